package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/terminal/vt"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// testProvider is the runtime provider of a test: a [fake.Provider] whose calls are counted and can fail,
// and whose sessions a test can change without a call of the controller.
type testProvider struct {
	*fake.Provider

	mu       sync.Mutex
	sessions map[string]*testSession // those that calls find; without an entry a session is gone
	watchers []chan runtime.Event
	calls    map[string]int
	now      func() time.Time

	noWatch    bool                                         // Watch is not supported
	cause      string                                       // why sessions are gone
	down       error                                        // the error of every observation and metadata call
	silent     chan struct{}                                // calls return only after it is closed; nil: at once
	partial    bool                                         // listings are incomplete
	listed     []string                                     // the only names in listings; nil: all
	blind      map[string]bool                              // sessions that Observe does not know about
	onStart    func(ctx context.Context, name string) error // before the agent exists
	stubborn   map[string]int                               // how many stops fail; <0: all
	late       int                                          // how many observations of an exited agent do not know its exit status
	orphans    map[string]string                            // tokens of agents that run without their session, by name
	shortLived bool                                         // agents exit while their start returns
	polite     bool                                         // agents exit when they are interrupted
	startLog   []string                                     // names of the sessions that were started
	onStop     func(name string)                            // at each stop, with the lock held
	onStarted  func(name string)                            // at each start that succeeds, with the lock held
	readings   map[string]runtime.Reading                   // the results of Sense; nil: those of the fake
	quiet      bool                                         // Observe does not know the last activity
	noSense    bool                                         // Sense is not supported
	onObserve  func(name string)                            // before Observe returns
	onSense    func(ctx context.Context, name string) error // before Sense returns
	startNotes map[string]string                            // metadata that a start sets
	last       *runtime.Evidence                            // the last signal of agents that have exited
	onCommand  func(command string) error                   // refuses starts, with the lock held
	onRelaunch func() error                                 // after the agent was replaced, with the lock held
	halfway    bool                                         // starts create the session and hang, and undo nothing
	attached   int                                          // terminals at each session that is started
	keepsToken bool                                         // a relaunch does not change the token
	dropsNotes bool                                         // changes of metadata have no effect
	onPeek     string                                       // the result of Peek; empty: that of the fake
}

// testSession is what a test can change of a session.
type testSession struct {
	token    string
	cfg      runtime.Config
	hints    runtime.Hints // as set while it ran
	attached int
	active   time.Time
	began    time.Time
	ended    time.Time
}

func newTestProvider() *testProvider {
	return &testProvider{
		Provider: fake.New(), sessions: map[string]*testSession{}, calls: map[string]int{}, now: time.Now,
		blind: map[string]bool{}, stubborn: map[string]int{}, orphans: map[string]string{},
	}
}

// count records a call and returns the lock.
func (f *testProvider) count(call string) func() {
	f.mu.Lock()
	f.calls[call]++
	if silent := f.silent; silent != nil {
		f.mu.Unlock()
		<-silent
		f.mu.Lock()
	}
	return f.mu.Unlock
}

func (f *testProvider) number(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

func (f *testProvider) emit(ev runtime.Event) {
	ev.Time = f.now()
	for _, w := range f.watchers {
		select {
		case w <- ev:
		default:
		}
	}
}

func (f *testProvider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	defer f.count("start")()
	if f.aliveLocked(name) {
		return &runtime.Error{Op: "start", Session: name, Err: runtime.ErrSessionExists}
	}
	if f.onStart != nil {
		f.mu.Unlock()
		err := f.onStart(ctx, name)
		f.mu.Lock()
		if err != nil {
			return &runtime.Error{Op: "start", Session: name, Err: err}
		}
	}
	if f.onCommand != nil {
		if err := f.onCommand(cfg.Command); err != nil {
			return &runtime.Error{Op: "start", Session: name, Err: err}
		}
	}
	if err := f.startLocked(ctx, name, cfg); err != nil {
		return err
	}
	if f.halfway {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return &runtime.Error{Op: "start", Session: name, Err: ctx.Err()}
	}
	for key, value := range f.startNotes {
		if err := f.Provider.SetMeta(name, key, value); err != nil {
			return err
		}
	}
	f.startLog = append(f.startLog, name)
	if f.onStarted != nil {
		f.onStarted(name)
	}
	if f.shortLived {
		f.endLocked(name, 1)
	}
	return nil
}

// startLocked starts a session, and replaces one that is gone.
func (f *testProvider) startLocked(ctx context.Context, name string, cfg runtime.Config) error {
	if err := f.Provider.Stop(name); err != nil {
		return err
	}
	f.sessions[name] = &testSession{token: cfg.Env["GC_INSTANCE_TOKEN"], cfg: cfg, began: f.now(), attached: f.attached}
	cfg.WorkDir = "" // it need not exist
	return f.Provider.Start(ctx, name, cfg)
}

func (f *testProvider) StopInstance(_ context.Context, name, token string) error {
	defer f.count("stop")()
	s := f.sessions[name]
	if f.orphans[name] == token {
		delete(f.orphans, name)
	}
	if s == nil {
		return nil
	}
	if s.token != token {
		return runtime.ErrStaleInstance
	}
	if f.onStop != nil {
		f.onStop(name)
	}
	if n := f.stubborn[name]; n != 0 {
		f.stubborn[name] = n - 1
		return errors.New("it does not exit")
	}
	delete(f.sessions, name)
	return f.Provider.Stop(name)
}

func (f *testProvider) Stop(string) error { return errors.New("stopped without a token") }

func (f *testProvider) InterruptInstance(_ context.Context, name, token string) error {
	defer f.count("interrupt")()
	if s := f.sessions[name]; s != nil && s.token == token && f.polite {
		f.endLocked(name, 0)
	}
	return nil
}

func (f *testProvider) Interrupt(string) error { return errors.New("interrupted without a token") }

// end makes an agent exit by itself.
func (f *testProvider) end(name string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(name, code)
}

func (f *testProvider) endLocked(name string, code int) {
	f.sessions[name].ended = f.now()
	f.Exit(name, runtime.Exit{Code: code})
}

func (f *testProvider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	defer f.count("sense")()
	if f.readings == nil && f.noSense {
		return runtime.Reading{}, &runtime.Error{Op: "sense", Session: name, Err: errors.ErrUnsupported}
	}
	if !f.aliveLocked(name) {
		return runtime.Reading{}, runtime.ErrSessionNotFound
	}
	token, r := f.sessions[name].token, f.readings[name]
	if f.readings == nil {
		var err error
		if r, err = f.Provider.Sense(ctx, name); err != nil {
			return r, err
		}
	}
	if f.onSense != nil {
		f.mu.Unlock()
		err := f.onSense(ctx, name)
		f.mu.Lock()
		if err != nil {
			return runtime.Reading{}, err
		}
	}
	r.Instance, r.At = token, f.now()
	return r, nil
}

// setActivity makes an agent show the activity on its screen.
func (f *testProvider) setActivity(name string, activity runtime.Activity, change ...func(*runtime.Reading)) {
	f.mu.Lock()
	r := runtime.Reading{Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: activity, Detail: "drawn"}}}
	if activity == "" {
		r.Evidence = nil
	}
	for _, c := range change {
		c(&r)
	}
	if f.readings == nil {
		f.readings = map[string]runtime.Reading{}
	}
	f.readings[name] = r
	f.mu.Unlock()
	f.works(name)
}

// works makes an agent print.
func (f *testProvider) works(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		s.active = f.now()
		f.emit(runtime.Event{Kind: runtime.EventOutput, Session: name})
	}
}

// vanish removes a session without an event.
func (f *testProvider) vanish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, name)
}

func (f *testProvider) set(change func(*testProvider)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *testProvider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	defer f.count("observe")()
	if hook := f.onObserve; hook != nil {
		f.mu.Unlock()
		hook(name)
		f.mu.Lock()
	}
	o := runtime.Observation{At: f.now()}
	s := f.sessions[name]
	switch {
	case f.down != nil:
		return o, f.down
	case f.blind[name]:
		return o, nil
	case s == nil:
		o.Session, o.Agent, o.Cause = runtime.Dead, runtime.Dead, f.cause
		if f.orphans[name] != "" {
			o.Agent = runtime.Alive
		}
		return o, nil
	}
	o, err := f.Provider.Observe(ctx, name)
	o.At, o.InstanceToken, o.Handle, o.StartedAt = f.now(), s.token, s.token, s.began
	o.Attached, o.LastActivity = s.attached, s.active
	if f.quiet {
		o.LastActivity = time.Time{}
	}
	if o.Exit != nil {
		o.Exit.At, o.Last = s.ended, f.last
		if f.late > 0 {
			f.late--
			o.Exit = nil
		}
	}
	return o, err
}

// Recover compares the handle with the token.
func (f *testProvider) Recover(_ context.Context, name, handle string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s == nil || s.token != handle {
		return runtime.ErrStaleInstance
	}
	return nil
}

// Watch adds the events of emit to those of the fake.
func (f *testProvider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if f.noWatch {
		return nil, errors.ErrUnsupported
	}
	inner, err := f.Provider.Watch(ctx)
	if err != nil {
		return nil, err
	}
	events := make(chan runtime.Event, 4096)
	f.mu.Lock()
	f.watchers = append(f.watchers, events)
	f.mu.Unlock()
	go func() { // until ctx ends
		for ev := range inner {
			events <- ev
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(c chan runtime.Event) bool { return c == events })
		close(events)
	}()
	return events, nil
}

func (f *testProvider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	defer f.count("relaunch")()
	s := f.sessions[name]
	if s == nil {
		return runtime.ErrSessionNotFound
	}
	s.cfg, s.began = cfg, f.now()
	if !f.keepsToken {
		s.token = cfg.Env["GC_INSTANCE_TOKEN"]
	}
	cfg.WorkDir = "" // as in startLocked
	if err := f.Provider.Relaunch(ctx, name, cfg); err != nil {
		return err
	}
	if f.onRelaunch != nil {
		return f.onRelaunch()
	}
	return nil
}

func (f *testProvider) ListRunning(prefix string) ([]string, error) {
	defer f.count("list")()
	if f.down != nil {
		return nil, f.down
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(f.sessions)), func(name string) bool {
		return !strings.HasPrefix(name, prefix) || !f.aliveLocked(name)
	})
	if f.partial || f.listed != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(f.listed, name) })
		return names, &runtime.PartialListError{Errs: []error{errors.New("half of it does not answer")}}
	}
	return names, nil
}

// meta makes a call that reads or writes metadata.
func (f *testProvider) meta(name string, write bool, call func() error) error {
	defer f.count("meta")()
	switch {
	case f.down != nil:
		return f.down
	case f.sessions[name] == nil:
		return runtime.ErrSessionNotFound
	case write && f.dropsNotes:
		return nil
	}
	return call()
}

func (f *testProvider) SetMeta(name, key, value string) error {
	return f.meta(name, true, func() error { return f.Provider.SetMeta(name, key, value) })
}

func (f *testProvider) GetMeta(name, key string) (value string, err error) {
	err = f.meta(name, false, func() error {
		value, err = f.Provider.GetMeta(name, key)
		return err
	})
	return value, err
}

func (f *testProvider) RemoveMeta(name, key string) error {
	return f.meta(name, true, func() error { return f.Provider.RemoveMeta(name, key) })
}

func (f *testProvider) Nudge(name string, content []runtime.ContentBlock) error {
	defer f.count("nudge " + runtime.FlattenText(content))()
	if f.sessions[name] == nil {
		return runtime.ErrSessionNotFound
	}
	return f.Provider.Nudge(name, content)
}

func (f *testProvider) RunLive(name string, cfg runtime.Config) error {
	f.count("live")()
	return f.Provider.RunLive(name, cfg)
}

func (f *testProvider) CopyTo(string, string, string) error { f.count("copy")(); return nil }

func (f *testProvider) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanStream: !f.noWatch}
}

func (f *testProvider) Peek(name string, lines int) (string, error) {
	defer f.count("peek")()
	if f.onPeek != "" {
		return f.onPeek, nil
	}
	return f.Provider.Peek(name, lines)
}

// SendKeys knows no key whose name has the letters of Return in another order.
func (f *testProvider) SendKeys(name string, keys ...string) error {
	defer f.count("keys")()
	if slices.Contains(keys, "Retrun") {
		return &runtime.Error{Op: "send keys to", Session: name, Err: &vt.KeyError{Name: "Retrun", Similar: "Return"}}
	}
	return nil
}

func (f *testProvider) alive(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.aliveLocked(name)
}

func (f *testProvider) aliveLocked(name string) bool {
	return f.sessions[name] != nil && f.IsRunning(name)
}

// lives returns the tokens of the sessions that run, by name.
func (f *testProvider) lives() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for name, s := range f.sessions {
		if f.aliveLocked(name) {
			out[name] = s.token
		}
	}
	return out
}

// note returns a value of a session's metadata, or "".
func (f *testProvider) note(name, key string) string {
	value, _ := f.Provider.GetMeta(name, key) // without a session it is empty
	return value
}

func (f *testProvider) starts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.startLog)
}

func (f *testProvider) snapshotCalls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

func (f *testProvider) String() string { return fmt.Sprint(f.snapshotCalls()) }

// SetHints records the hints of a running session.
func (f *testProvider) SetHints(_ context.Context, name, instance string, hints runtime.Hints) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	switch {
	case s == nil:
		return runtime.ErrSessionNotFound
	case instance != "" && instance != s.token:
		return runtime.ErrStaleInstance
	}
	s.hints = hints
	return nil
}

// hintsOf returns the hints that SetHints set.
func (f *testProvider) hintsOf(name string) runtime.Hints {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[name].hints
}
