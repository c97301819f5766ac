package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
	"gascity/internal/textfmt"
)

// SendError is an error of a [Sender].
type SendError struct {
	Err   error
	Final bool          // another try makes no sense
	After time.Duration // the sink asks to wait this long before the next try; zero: it does not
}

// Error returns the text of the cause. It implements error.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// maxAfter is the longest delay that a sink may ask for.
const maxAfter = time.Hour

// worker sends the messages of one sink, or of one device of a sink, one after the other.
type worker struct {
	engine *Engine
	stop   context.CancelFunc
	woken  engine.Signal
	delays *retry.Backoff // between failures of the sink

	mu        sync.Mutex
	sink      Sink      // guarded by mu
	queue     []*job    // guarded by mu
	removed   bool      // the sink was removed from the configuration; guarded by mu
	notBefore time.Time // after a failure: no message is sent before; guarded by mu
	asked     time.Time // the service asked to send no message before; guarded by mu
	failure   string    // why the last try failed; empty: it did not; guarded by mu

	sent          []sentMessage // messages with buttons that can be removed, oldest first; guarded by mu
	listenFailure string        // why presses of buttons are not received; empty: they are; guarded by mu

	listening *listening    // receives presses; nil: nothing does; used by the goroutine of Run only
	listened  chan struct{} // closed when the goroutine of the last listening has returned; used by the goroutine of Run only
}

// job is one message that is to be sent.
type job struct {
	id         string
	deliveries []notification.Delivery
	delays     *retry.Backoff
	at         time.Time // not before; zero: at once
	withdraw   bool      // the message was confirmed and is not needed any more
}

// startWorkers starts a worker for each new target and stops the workers of removed targets. A target is a sink, or a device of a
// sink. If repaired is true, the settings have changed, so the other workers retry their queued messages at once.
func (c *consumer) startWorkers(ctx context.Context, s Settings, repaired bool) {
	e := c.engine
	for target := range e.workers {
		if !slices.ContainsFunc(s.Sinks, func(sink Sink) bool { return sink.target() == target }) {
			c.stopWorker(target)
		}
	}
	c.dropRemoved(ctx)
	for _, sink := range s.Sinks {
		w := e.workers[sink.target()]
		if w == nil {
			w = e.newWorker(sink.target())
			working, stop := context.WithCancel(ctx)
			w.stop = stop
			w.set(sink)
			e.mu.Lock()
			e.workers[sink.target()] = w
			e.mu.Unlock()
			c.jobs.Go(func() {
				w.run(working)
				w.dropQueue(ctx)
			})
			continue
		}
		if repaired {
			w.set(sink)
		}
	}
}

// newWorker returns a worker whose queue has the messages for the target that an earlier controller did not finish.
func (e *Engine) newWorker(target notification.Target) *worker {
	w := &worker{engine: e, woken: engine.NewSignal(), delays: retry.New(e.opts.RetryFirst, e.opts.RetryLongest)}
	e.mu.Lock()
	var unfinished []notification.Delivery
	for _, d := range e.deliveries {
		if d.Target() == target && !d.Final() {
			unfinished = append(unfinished, *d)
		}
	}
	e.mu.Unlock()
	slices.SortFunc(unfinished, func(a, b notification.Delivery) int { return a.Created.Compare(b.Created) })
	w.add(unfinished)
	return w
}

// removedReason returns why the deliveries for a removed target were dropped.
func removedReason(t notification.Target) string {
	if t.Device != "" {
		return "the device gets no notifications any more, or the sink was removed from city.toml"
	}
	return "the sink was removed from city.toml"
}

// stopWorker stops the worker of a removed target (a sink, or a device of a sink). The worker's own goroutine marks its deliveries
// as dropped, because it may be sending one of them now.
func (c *consumer) stopWorker(target notification.Target) {
	w := c.engine.workers[target]
	c.engine.mu.Lock()
	delete(c.engine.workers, target)
	c.engine.mu.Unlock()
	w.mu.Lock()
	w.removed = true
	w.mu.Unlock()
	w.stopListening()
	w.stop()
}

// dropQueue marks the deliveries in the queue as dropped if the sink was removed from city.toml. Otherwise it does nothing, and
// the next controller sends them.
func (w *worker) dropQueue(ctx context.Context) {
	w.mu.Lock()
	queue, removed := w.queue, w.removed
	if removed {
		w.queue = nil
	}
	w.mu.Unlock()
	for _, j := range queue {
		if removed && !j.withdraw {
			w.engine.finish(ctx, j.deliveries, notification.Dropped, removedReason(j.deliveries[0].Target()))
		}
	}
}

// current returns the configuration of the sink.
func (w *worker) current() Sink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sink
}

// set sets the configuration of the sink. A delay that the service asked for stays.
func (w *worker) set(sink Sink) {
	w.mu.Lock()
	if sink.account != w.sink.account {
		w.asked = time.Time{}
	}
	w.sink, w.notBefore = sink, w.asked
	for _, j := range w.queue {
		j.at = time.Time{} // the new configuration may be the repair
	}
	w.mu.Unlock()
	w.woken.Wake()
}

// add adds the deliveries to the queue. Those with the same message ID are sent as one message.
func (w *worker) add(deliveries []notification.Delivery) {
	if len(deliveries) == 0 {
		return
	}
	w.mu.Lock()
	for i := range deliveries {
		d := deliveries[i]
		at := slices.IndexFunc(w.queue, func(j *job) bool { return j.id == d.Message && !j.withdraw })
		if at < 0 {
			w.queue = append(w.queue, &job{id: d.Message, delays: retry.New(w.engine.opts.RetryFirst, w.engine.opts.RetryLongest)})
			at = len(w.queue) - 1
		}
		w.queue[at].deliveries = append(w.queue[at].deliveries, d)
	}
	w.mu.Unlock()
	w.woken.Wake()
}

// run sends messages until ctx ends.
func (w *worker) run(ctx context.Context) {
	engine.Loop(ctx, w.engine.opts.Now, w.woken, func(bool) time.Time {
		w.finishSent(ctx)
		for ctx.Err() == nil {
			j, next := w.first()
			if j == nil {
				return next
			}
			w.deliver(ctx, j)
		}
		return time.Time{}
	})
}

// first returns the first message that may be sent now. If there is none, it returns when one may be sent.
func (w *worker) first() (j *job, next time.Time) {
	now := w.engine.opts.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.queue {
		at := engine.Later(j.at, w.notBefore)
		if !at.After(now) {
			return j, time.Time{}
		}
		next = engine.Earlier(next, at)
	}
	return nil, next
}

// deliver sends one message. If that fails, the message moves to the end of the queue, and all messages wait.
func (w *worker) deliver(ctx context.Context, j *job) {
	e := w.engine
	if j.withdraw {
		w.remove(j)
		w.sendWithdrawal(ctx, j)
		return
	}
	m := w.prepare(ctx, j)
	if ctx.Err() != nil {
		return
	}
	if m == nil {
		w.remove(j)
		return
	}
	err := send(ctx, w.current(), m)
	if ctx.Err() != nil && err != nil {
		return // the next controller sends it again
	}
	if err == nil {
		w.delays.Reset()
		w.setFailure("")
		w.remove(j)
		e.finish(ctx, j.deliveries, notification.Sent, "")
		if m.Sent != nil {
			w.addSent(m.Items[0].Question, *m.Sent)
			w.woken.Wake() // the question may have ended meanwhile
		}
		w.withdraw(j.deliveries[0]) // it may have ended meanwhile
		return
	}
	why := clean(e.opts.Secrets, err.Error(), maxReason)
	w.setFailure(why)
	failed, known := errors.AsType[*SendError](err)
	if known && failed.Final || e.opts.Now().Sub(j.deliveries[0].Created) > maxAge {
		w.remove(j)
		e.finish(ctx, j.deliveries, notification.Failed, why)
		return
	}
	var after time.Duration
	if known {
		after = min(failed.After, maxAfter)
	}
	e.update(ctx, j.deliveries, func(d *notification.Delivery) { d.Tries, d.Error = d.Tries+1, why })
	w.postpone(j, after)
}

// withdraw adds the withdrawal of a confirmed message to the queue, if the sender can do that and all that the message is about
// is over.
func (w *worker) withdraw(d notification.Delivery) {
	if _, can := w.current().Sender.(Withdrawer); !can || !w.engine.isOver(d.Message, d.Target()) {
		return
	}
	w.mu.Lock()
	w.queue = append(w.queue, &job{id: d.Message, deliveries: []notification.Delivery{d}, withdraw: true})
	w.mu.Unlock()
	w.woken.Wake()
}

// sendWithdrawal sends a withdrawal, once: the message is old, and the device shows that when its page is opened.
func (w *worker) sendWithdrawal(ctx context.Context, j *job) {
	sink := w.current()
	sender, ok := sink.Sender.(Withdrawer)
	if !ok {
		return
	}
	m := w.engine.newMessage(j.id, sink)
	m.Title = textfmt.OneLine(clean(w.engine.opts.Secrets, title(j.deliveries[0].Subject), maxLine))
	ctx, cancel := context.WithTimeout(ctx, sink.Timeout)
	defer cancel()
	if err := sender.Withdraw(ctx, m); err != nil && ctx.Err() == nil {
		w.engine.opts.Logger.Debug("a notification that is over was not replaced", "sink", sink.Name, "error", err)
	}
}

// newMessage returns a message with an id for a sink, without its subjects.
func (e *Engine) newMessage(id string, sink Sink) *Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &Message{ID: id, City: textfmt.OneLine(sink.city), Questions: e.questions}
}

// maxReason is the maximum size of a stored reason, in bytes.
const maxReason = 1000

// send sends one message within the time limit of the sink.
func send(ctx context.Context, sink Sink, m *Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sink.Timeout, fmt.Errorf("no confirmation within %s", sink.Timeout))
	defer cancel()
	err := sink.Sender.Send(ctx, m)
	if cause := context.Cause(ctx); err != nil && cause != nil && errors.Is(err, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// postpone moves a message whose sending failed to the end of the queue. Until the delay after a failure has passed, the sink
// gets no message. after is the delay that the sink asked for.
func (w *worker) postpone(j *job, after time.Duration) {
	now := w.engine.opts.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if after > 0 {
		w.asked = now.Add(after)
	}
	w.notBefore = now.Add(max(w.delays.Next(), after))
	j.at = now.Add(max(j.delays.Next(), after))
	w.queue = append(slices.DeleteFunc(w.queue, func(other *job) bool { return other == j }), j)
}

// setFailure records why the last try failed; empty: it did not.
func (w *worker) setFailure(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure = why; why == "" {
		w.notBefore = time.Time{}
	}
}

// remove removes a message from the queue, because it was sent or is not needed any more.
func (w *worker) remove(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(other *job) bool { return other == j })
}

// prepare returns the message to send, with only those subjects that still need a person; nil if there are none.
func (w *worker) prepare(ctx context.Context, j *job) *Message {
	e := w.engine
	sink := w.current()
	m := e.newMessage(j.id, sink)
	var rest, over []notification.Delivery
	var asked *client.Pending // the question of the last item; nil: it has none, or it is not known
	for i := range j.deliveries {
		if item, p, needed := e.item(ctx, j.deliveries[i].Subject); needed {
			m.Items, rest, asked = append(m.Items, item), append(rest, j.deliveries[i]), p
		} else {
			over = append(over, j.deliveries[i])
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	j.deliveries = rest
	e.finish(ctx, over, notification.Dropped, "the agent does not need a person any more")
	if len(j.deliveries) == 0 {
		return nil
	}
	m.render(e.opts.Secrets, func(agent, question string) string { return e.opts.Link(ctx, agent, question) })
	w.addButtons(ctx, m, sink, asked)
	return m
}

// item returns the part of a message about a subject, and its question if it is open. needed is false if the subject is over.
func (e *Engine) item(ctx context.Context, s notification.Subject) (item Item, asked *client.Pending, needed bool) {
	item = itemOf(s)
	if s.Question == "" {
		e.mu.Lock()
		defer e.mu.Unlock()
		return item, nil, s.Kind.Group() == notification.Finished || e.open[s.ID]
	}
	p, err := e.opts.City.Question(ctx, s.Question)
	switch {
	case err == nil && p.State == client.PendingOpen:
		item.Prompt, item.Options, item.Tool, item.Input = p.Prompt, p.Options, p.Tool, p.Input
		return item, &p, true
	case err == nil, errors.Is(err, client.ErrNotFound):
		return item, nil, false
	}
	return item, nil, true // it is not known
}

// finish saves the final state of deliveries and why they ended. While the store fails, it tries again, because a confirmed
// message must not be sent twice.
func (e *Engine) finish(ctx context.Context, deliveries []notification.Delivery, state notification.DeliveryState, why string) {
	if len(deliveries) == 0 {
		return
	}
	e.update(ctx, deliveries, func(d *notification.Delivery) {
		d.State, d.Error = state, why
		if state != notification.Dropped {
			d.Tries++
		}
	})
	if state != notification.Failed {
		return
	}
	d := &deliveries[0]
	data := map[string]string{"sink": d.Sink, "id": d.ID, "error": why}
	if d.Device != "" {
		data["device"] = d.Device
	}
	engine.Record(ctx, e.opts.Events, e.opts.Logger, client.Event{
		Kind: string(event.NotifyFailed), Agent: d.Subject.Agent, Session: d.Subject.Session,
		Text: fmt.Sprintf("a notification was not sent to %s: %s", d.Sink, textfmt.Brief(why)),
		Data: data,
	})
}

// update changes and saves deliveries, also if ctx has ended. It returns when they are saved; if ctx ends, after the first try.
func (e *Engine) update(ctx context.Context, deliveries []notification.Delivery, change func(*notification.Delivery)) {
	now := e.opts.Now()
	e.mu.Lock()
	for i := range deliveries {
		change(&deliveries[i])
		deliveries[i].Updated = now
		one := deliveries[i]
		e.deliveries[one.Key()] = &one
	}
	e.mu.Unlock()
	e.save(ctx, deliveries)
}

// save saves deliveries, also if ctx has ended. While the store is unavailable it tries again; after ctx has ended it tries only
// once.
func (e *Engine) save(ctx context.Context, deliveries []notification.Delivery) {
	for delay := retry.New(engine.RetryFirst, engine.RetryLongest); ; {
		err := e.opts.Store.SaveDeliveries(context.WithoutCancel(ctx), deliveries)
		if err == nil {
			return
		}
		e.opts.Logger.Error("cannot save the result of a notification", "sink", deliveries[0].Sink, "error", err)
		if !errors.Is(err, client.ErrUnavailable) || !delay.Wait(ctx) {
			return
		}
	}
}
