package notify

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/internal/domain/session"
	"gascity/internal/redact"
	"gascity/internal/service/engine"
	"gascity/internal/service/notify/answers"
)

// City is what the engine reads of a city.
type City interface {
	// Pending returns the questions, as questions.Service.Pending.
	Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error)
	// Question returns one question, as questions.Service.Question.
	Question(ctx context.Context, id string) (client.Pending, error)
	// Snapshot returns what is known about a session. It does not wait.
	Snapshot(session string) (session.Snapshot, error)
}

// Options are the dependencies of an engine. All are required unless a comment says otherwise.
type Options struct {
	City    City
	Store   notification.Store
	Events  event.Log
	Logger  *slog.Logger
	Now     func() time.Time
	Root    string // the city directory; a part of the ids of messages
	Secrets *redact.Redactor
	// Link returns the address of a question or an agent in the web console; empty: there is none.
	Link func(ctx context.Context, agent, question string) string
	// Answers makes the answer buttons and answers questions with them. Nil: messages have no buttons.
	Answers *answers.Service
	// AnswerTo returns the address to which a button sends its answer by POST; empty: the web console is off. Nil: only sinks
	// that receive presses themselves have buttons.
	AnswerTo func(ctx context.Context) string
	// RetryFirst and RetryLongest are the delays between tries. Zero: 1 s and 5 min.
	RetryFirst, RetryLongest time.Duration
}

// Settings are the configuration of an engine.
type Settings struct {
	City  string // the name of the city in messages
	Sinks []Sink
	Rules []notification.Rule
}

// Sink is a configured sink.
type Sink struct {
	Name    string
	Type    string
	Timeout time.Duration // of one request
	Sender  Sender        // nil if the sink has devices
	// ForDevice returns the sender for one device; nil: the sink has no devices.
	ForDevice func(device string) Sender
	// Buttons is the largest number of answer buttons of a message; zero: messages have none.
	Buttons int

	account account          // of the service
	city    string           // the name of the city in messages; set by the engine
	device  client.WebDevice // set by the engine; zero: the sink has no devices
}

// target returns where the messages of the sink go.
func (s *Sink) target() notification.Target {
	return notification.Target{Sink: s.Name, Device: s.device.ID}
}

// forDevices returns the sink for each device, or the sink itself if it has no devices.
func (s *Sink) forDevices(devices []client.WebDevice) []Sink {
	if s.ForDevice == nil {
		return []Sink{*s}
	}
	out := make([]Sink, len(devices))
	for i, d := range devices {
		out[i] = *s
		out[i].Sender, out[i].ForDevice, out[i].device = s.ForDevice(d.ID), nil, d
	}
	return out
}

// forDevices returns the settings with one sink and its rules for each device, in place of each sink that has devices.
func (s Settings) forDevices(devices []client.WebDevice) Settings {
	out := Settings{City: s.City}
	perDevice := map[string]bool{}
	for i := range s.Sinks {
		sink := s.Sinks[i]
		sink.city, perDevice[sink.Name] = s.City, sink.ForDevice != nil
		out.Sinks = append(out.Sinks, sink.forDevices(devices)...)
	}
	for _, rule := range s.Rules {
		if !perDevice[rule.Sink] {
			out.Rules = append(out.Rules, rule)
			continue
		}
		for _, d := range devices {
			rule.Device = d.ID
			out.Rules = append(out.Rules, rule)
		}
	}
	return out
}

// Sender sends messages to one sink. Its calls are sequential, except those for tests.
type Sender interface {
	// Send sends a message and returns nil when the sink has confirmed it. A [*SendError] says whether another try makes
	// sense, and when; after any other error it does. No error contains a credential.
	Send(ctx context.Context, m *Message) error
}

// Withdrawer is an optional extension of [Sender]: it can replace a message that is not needed any more.
type Withdrawer interface {
	// Withdraw replaces the message with the id of m, which was confirmed. Its only texts are the city and the title. It is
	// called once for a message, and not again after an error.
	Withdraw(ctx context.Context, m *Message) error
}

const (
	// retention is how long final deliveries are stored.
	retention = 7 * 24 * time.Hour
	// maxAge is how long a delivery is tried.
	maxAge = 24 * time.Hour
	// pageSize is the number of events that are read at once.
	pageSize = 1000
	// saveEvery is the number of events after which the cursor is saved even if the events changed nothing.
	saveEvery = 5000
	// saveShare is how many times longer than a save the pause after it is: the state is saved as a whole, and that takes long with
	// thousands of open subjects.
	saveShare = 20
	// saveLongest is the longest pause after a save.
	saveLongest = time.Second
)

// Engine sends the notifications of a city. Its methods are safe for concurrent use.
type Engine struct {
	opts     Options
	woken    engine.Signal // wakes the goroutine of Run
	advanced engine.Signal // wakes the goroutine that waits for events
	cursor   atomic.Uint64 // the last event that was read

	created time.Time // when New was called, which is before agents are started

	mu         sync.Mutex
	settings   *Settings          // nil: not configured yet; guarded by mu
	devices    []client.WebDevice // of the web console; guarded by mu
	changed    bool               // settings or devices changed since they were applied; guarded by mu
	repaired   bool               // settings changed since they were applied; guarded by mu
	deliveries map[notification.Key]*notification.Delivery
	open       map[string]bool                 // the ids of open subjects; guarded by mu
	questions  int                             // the number of open questions; guarded by mu
	workers    map[notification.Target]*worker // written by the goroutine of Run only; guarded by mu
	present    int                             // number of persons whom Present counts; guarded by mu
}

// New returns an engine without sinks. It does nothing until [Engine.Run] is called.
func New(opts Options) *Engine {
	if opts.RetryFirst == 0 {
		opts.RetryFirst, opts.RetryLongest = time.Second, 5*time.Minute
	}
	return &Engine{
		opts: opts, created: opts.Now(), woken: engine.NewSignal(), advanced: engine.NewSignal(),
		deliveries: map[notification.Key]*notification.Delivery{}, open: map[string]bool{}, workers: map[notification.Target]*worker{},
	}
}

// Configure sets the sinks and the rules. It does not wait.
func (e *Engine) Configure(s Settings) {
	e.mu.Lock()
	e.settings, e.changed, e.repaired = &s, true, true
	e.mu.Unlock()
	e.woken.Wake()
}

// SetDevices sets the devices of the web console that get notifications. It must be called before [Engine.Run], so that
// what an earlier controller did not finish is sent, and after each change. It does not wait.
func (e *Engine) SetDevices(devices []client.WebDevice) {
	e.mu.Lock()
	e.devices, e.changed = devices, e.changed || e.settings != nil
	e.mu.Unlock()
	e.woken.Wake()
}

// Run works until ctx ends, and returns nil when all goroutines that it started have returned. It must be called once.
func (e *Engine) Run(ctx context.Context) error {
	c := &consumer{engine: e}
	defer c.jobs.Wait()
	engine.Loop(ctx, e.opts.Now, e.woken, func(bool) time.Time { return c.work(ctx) })
	c.save(context.WithoutCancel(ctx))
	return nil
}

// consumer has the state that only the goroutine of Run uses.
type consumer struct {
	engine *Engine
	jobs   sync.WaitGroup
	rules  []notification.Rule

	applied bool // a configuration was applied
	loaded  bool
	cleared bool // the saved state was removed because there is no sink
	stop    context.CancelFunc
	state   notification.State
	unsaved int  // events since the state was saved
	dirty   bool // the state must be saved
	// saveAfter is when the state may be saved again, see saveShare. What was not saved is read from the event log again.
	saveAfter time.Time
	pruned    time.Time // when old deliveries were last deleted

	asked      bool      // a question was open when listen was last called
	askedUntil time.Time // when the last question ended; zero: none ended yet
}

// work applies a changed configuration, reads the new events, and sends what is due to the workers of the sinks. It returns when
// something is due next; zero: only when something changes.
func (c *consumer) work(ctx context.Context) (next time.Time) {
	if s, changed, repaired := c.engine.takeSettings(); changed && !c.configure(ctx, s, repaired) {
		c.engine.retrySettings(repaired)
		return c.engine.opts.Now().Add(engine.SaveRetryDelay)
	}
	if len(c.engine.workers) == 0 {
		return time.Time{}
	}
	if err := c.readEvents(ctx); err != nil {
		if ctx.Err() == nil {
			c.engine.opts.Logger.Warn("cannot read events for notifications", "error", err)
		}
		return c.engine.opts.Now().Add(engine.SaveRetryDelay)
	}
	next, ok := c.plan(ctx)
	next = engine.Earlier(next, c.listen(ctx))
	if c.dirty || c.unsaved > saveEvery {
		if now := c.engine.opts.Now(); now.Before(c.saveAfter) {
			next = engine.Earlier(next, c.saveAfter)
		} else {
			ok = c.save(ctx) && ok
		}
	}
	c.prune(ctx)
	if !ok {
		next = engine.Earlier(next, c.engine.opts.Now().Add(engine.SaveRetryDelay))
	}
	return next
}

// takeSettings returns the settings for the present devices, and whether they changed since the last call. repaired is true if
// more than the devices changed: the sinks are then tried at once.
func (e *Engine) takeSettings() (s Settings, changed, repaired bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.settings == nil {
		return Settings{}, false, false // only the devices are known yet
	}
	changed, repaired = e.changed, e.repaired
	e.changed, e.repaired = false, false
	return e.settings.forDevices(e.devices), changed, repaired
}

// retrySettings makes the next call of takeSettings return the settings again, because they could not be applied.
func (e *Engine) retrySettings(repaired bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed, e.repaired = true, e.repaired || repaired
}

// configure starts and stops workers. It returns false if the store cannot be read or written now.
func (c *consumer) configure(ctx context.Context, s Settings, repaired bool) bool {
	if len(s.Sinks) == 0 {
		c.applied = c.deactivate(ctx)
		return c.applied
	}
	if !c.loaded && !c.load(ctx) {
		return false
	}
	c.cleared = false
	begins := c.begins()
	since := map[string]time.Time{}
	for i := range s.Sinks {
		name := s.Sinks[i].target().String()
		at, known := c.state.Sinks[name]
		if !known {
			at = begins
		}
		since[name] = at
	}
	if !maps.Equal(since, c.state.Sinks) {
		c.state.Sinks, c.dirty, c.saveAfter = since, true, time.Time{} // a new sink is saved at once
	}
	c.rules = s.Rules
	c.publish() // a new worker may begin at once with what an earlier controller did not finish
	c.startWorkers(ctx, s, repaired)
	c.applied = true
	return true
}

// begins returns the time from which a new sink gets subjects: now or, for the sinks of the first configuration, the start of this
// controller. Otherwise an agent that asks as soon as it is started could be missed.
func (c *consumer) begins() time.Time {
	if !c.applied {
		return c.engine.created
	}
	return c.engine.opts.Now()
}

// dropRemoved marks the unfinished deliveries as dropped whose sinks were removed from city.toml while no controller ran. If such
// a sink is added again, it counts as new.
func (c *consumer) dropRemoved(ctx context.Context) {
	removed := map[string][]notification.Delivery{} // by the reason
	c.engine.mu.Lock()
	for _, d := range c.engine.deliveries {
		if since, configured := c.state.Sinks[d.Target().String()]; !d.Final() && (!configured || d.Subject.Since.Before(since)) {
			why := removedReason(d.Target())
			removed[why] = append(removed[why], *d)
		}
	}
	c.engine.mu.Unlock()
	for why, deliveries := range removed {
		c.engine.finish(ctx, deliveries, notification.Dropped, why)
	}
}

// deactivate stops everything because no sink is configured, and removes the saved state. A sink that is configured later gets
// nothing from before. It returns false if the store cannot be written now.
func (c *consumer) deactivate(ctx context.Context) bool {
	for target := range c.engine.workers {
		c.stopWorker(target)
	}
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	c.loaded, c.dirty, c.unsaved, c.state = false, false, 0, notification.State{}
	if c.cleared {
		return true
	}
	kept, err := c.engine.opts.Store.NotificationState(ctx)
	if err == nil && len(kept.Sinks) > 0 {
		err = c.engine.opts.Store.SaveNotificationState(ctx, notification.State{})
	}
	if err != nil && ctx.Err() == nil {
		c.engine.opts.Logger.Warn("cannot clear the state of notifications", "error", err)
	}
	c.cleared = err == nil
	return c.cleared
}

// load reads the saved state and the deliveries, and adds questions that are open but not in the state. It returns false if the
// store cannot be read now.
func (c *consumer) load(ctx context.Context) bool {
	e := c.engine
	state, err := e.opts.Store.NotificationState(ctx)
	var newest uint64
	if err == nil {
		newest, err = e.opts.Events.Since(ctx, e.opts.Now().AddDate(100, 0, 0)) // also events from before the clock was set back
	}
	switch {
	case err != nil:
	case len(state.Sinks) == 0: // the first start with a sink: not the whole history
		state = notification.State{Cursor: newest}
	case state.Cursor > newest: // a kill lost the last events; the log would return all events for an id that it does not know
		state.Cursor = newest
	}
	var all []notification.Delivery
	if err == nil {
		all, err = e.opts.Store.Deliveries(ctx)
	}
	if err != nil && len(all) == 0 {
		if ctx.Err() == nil {
			e.opts.Logger.Warn("cannot read the notifications yet", "error", err)
		}
		return false
	}
	e.mu.Lock()
	for i := range all {
		e.deliveries[all[i].Key()] = &all[i]
	}
	e.mu.Unlock()
	c.state, c.loaded = state, true
	e.cursor.Store(state.Cursor)
	if err := c.readEvents(ctx); err != nil || !c.reconcile(ctx) {
		c.loaded = false
		return false
	}
	following, stop := context.WithCancel(ctx)
	c.stop = stop
	c.jobs.Go(func() { e.follow(following) })
	return true
}

// reconcile adds the open questions of the city to the state and removes those that have ended, because a kill of the controller
// may have lost the last events. It also closes the budgets that became free while no controller ran. It returns false if the
// questions cannot be read now.
func (c *consumer) reconcile(ctx context.Context) bool {
	asked, err := c.engine.opts.City.Pending(ctx, "", client.OnlyOpen)
	if err != nil {
		return false
	}
	for i := range asked {
		for _, subject := range notification.QuestionSubjects(&asked[i]) {
			c.dirty = c.state.Raise(subject) || c.dirty
		}
	}
	closed := c.state.Close(func(s *notification.Subject) bool {
		return s.Question != "" && !slices.ContainsFunc(asked, func(p client.Pending) bool { return p.ID == s.Question })
	})
	ended := c.state.CloseEnded(c.engine.opts.Now())
	c.dirty = c.dirty || closed || ended
	return true
}

// follow wakes the goroutine of Run when there are new events.
func (e *Engine) follow(ctx context.Context) {
	for e.opts.Events.Wait(ctx, e.cursor.Load()) == nil {
		e.woken.Wake()
		select {
		case <-e.advanced:
		case <-ctx.Done():
			return // Wait does not return an error while there are new events
		}
	}
}

// readEvents reads the event log from the saved cursor to its end, a page at a time, and updates the open subjects. At the end of
// the log it returns and does not wait for further events, because the messages that are due are planned next.
func (c *consumer) readEvents(ctx context.Context) error {
	defer c.engine.advanced.Wake()
	for {
		events, err := c.engine.opts.Events.Page(ctx, c.state.Cursor, pageSize)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			c.dirty = c.state.Fold(&events[i]) || c.dirty
		}
		c.unsaved += len(events)
		c.engine.cursor.Store(c.state.Cursor)
		if len(events) < pageSize {
			return nil
		}
	}
}

// plan saves the deliveries that are due and queues them at the workers of their sinks. It returns when something is due next,
// and false if the store cannot be written now.
func (c *consumer) plan(ctx context.Context) (next time.Time, ok bool) {
	e := c.engine
	c.publish()
	c.dirty = c.state.CorrectTimes(e.opts.Now()) || c.dirty
	due, next, done := c.state.Plan(c.rules, notification.Facts{Now: e.opts.Now(), Known: e.known, Seen: e.seen})
	for _, batch := range due {
		if w := c.engine.workers[batch.Target]; w != nil && !c.queue(ctx, w, batch) {
			return next, false
		}
	}
	if len(done) > 0 {
		c.state.Close(func(s *notification.Subject) bool { return slices.Contains(done, s.ID) })
		c.dirty = true
	}
	return next, true
}

// publish copies the list of open subjects to the engine, where the workers read it.
func (c *consumer) publish() {
	open := make(map[string]bool, len(c.state.Open))
	questions := 0
	for i := range c.state.Open {
		open[c.state.Open[i].ID] = true
		if c.state.Open[i].ID == c.state.Open[i].Question { // not an overdue one, which is a second subject of its question
			questions++
		}
	}
	e := c.engine
	e.mu.Lock()
	was := e.open
	e.open, e.questions = open, questions
	e.mu.Unlock()
	for id := range was {
		if !open[id] {
			c.withdraw(id)
		}
	}
	for _, w := range e.workers {
		if w.hasSent() {
			w.woken.Wake() // the question of a message with buttons may have ended
		}
	}
}

// withdraw makes the devices that got a message about a subject replace it, if all that the message is about is over.
func (c *consumer) withdraw(subject string) {
	for target, w := range c.engine.workers {
		if target.Device == "" {
			continue
		}
		c.engine.mu.Lock()
		d := c.engine.deliveries[notification.Key{Subject: subject, Sink: target.Sink, Device: target.Device}]
		c.engine.mu.Unlock()
		if d != nil && d.State == notification.Sent {
			w.withdraw(*d)
		}
	}
}

// isOver reports whether all needs that a confirmed message was about are over. A message about what has finished is never over.
func (e *Engine) isOver(message string, t notification.Target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.deliveries {
		if d.Message == message && d.Target() == t && (e.open[d.Subject.ID] || d.Subject.Kind.Group() == notification.Finished) {
			return false
		}
	}
	return true
}

// known reports whether there is a delivery of the subject to the target.
func (e *Engine) known(subject string, t notification.Target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deliveries[notification.Key{Subject: subject, Sink: t.Sink, Device: t.Device}] != nil
}

// seen reports whether a person sees the session: a dashboard has the focus, or a terminal is attached to the session.
func (e *Engine) seen(name string) bool {
	e.mu.Lock()
	present := e.present
	e.mu.Unlock()
	if present > 0 {
		return true
	}
	v, err := e.opts.City.Snapshot(name)
	return err == nil && v.Attached > 0
}

// Present counts a person who sees all agents, until ctx ends. It does not wait. While somebody is counted, rules without WhileAttached
// send nothing; afterwards they send what an agent still needs a person for.
func (e *Engine) Present(ctx context.Context) error {
	e.addPresent(1)
	context.AfterFunc(ctx, func() { e.addPresent(-1) })
	return nil
}

func (e *Engine) addPresent(n int) {
	e.mu.Lock()
	e.present += n
	e.mu.Unlock()
	e.woken.Wake()
}

// queue saves the deliveries of a batch and gives them to the worker, the goroutine that sends them.
func (c *consumer) queue(ctx context.Context, w *worker, b notification.Batch) bool {
	now := c.engine.opts.Now()
	all := make([]notification.Delivery, 0, len(b.Subjects))
	for _, subject := range b.Subjects {
		d := notification.Delivery{Subject: subject, Sink: b.Target.Sink, Device: b.Target.Device, State: notification.Sending, Created: now, Updated: now}
		d.ID = d.Key().ID(c.engine.opts.Root)
		d.Message = d.ID
		if b.Joined && len(all) > 0 {
			d.Message = all[0].ID
		}
		all = append(all, d)
	}
	if err := c.engine.opts.Store.SaveDeliveries(ctx, all); err != nil {
		if ctx.Err() == nil {
			c.engine.opts.Logger.Error("cannot save notifications", "sink", b.Target.Sink, "error", err)
		}
		return false
	}
	c.engine.mu.Lock()
	for i := range all {
		c.engine.deliveries[all[i].Key()] = &all[i]
	}
	c.engine.mu.Unlock()
	w.add(all)
	return true
}

// save saves the state.
func (c *consumer) save(ctx context.Context) bool {
	if !c.loaded || !c.dirty && c.unsaved == 0 {
		return true
	}
	began := c.engine.opts.Now()
	if err := c.engine.opts.Store.SaveNotificationState(ctx, c.state); err != nil {
		if ctx.Err() == nil {
			c.engine.opts.Logger.Error("cannot save the state of notifications", "error", err)
		}
		return false
	}
	c.dirty, c.unsaved = false, 0
	now := c.engine.opts.Now()
	c.saveAfter = now.Add(min(now.Sub(began)*saveShare, saveLongest))
	return true
}

// prune deletes old deliveries, once a day.
func (c *consumer) prune(ctx context.Context) {
	now := c.engine.opts.Now()
	if now.Sub(c.pruned) < 24*time.Hour {
		return
	}
	c.pruned = now
	before := now.Add(-retention)
	var keep []string
	for i := range c.state.Open {
		keep = append(keep, c.state.Open[i].ID)
	}
	if err := c.engine.opts.Store.DeleteDeliveries(ctx, before, keep); err != nil {
		return // it is tried again tomorrow
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	maps.DeleteFunc(c.engine.deliveries, func(k notification.Key, d *notification.Delivery) bool {
		return d.Final() && d.Updated.Before(before) && !slices.Contains(keep, k.Subject)
	})
}
