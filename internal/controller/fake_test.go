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
)

// fake is a place of sessions that never leaves memory. It keeps the words of
// the contract that the controller relies on, and counts what it is asked.
type fake struct {
	mu       sync.Mutex
	sessions map[string]*fakeSession
	watchers []chan runtime.Event
	calls    map[string]int

	streams    bool
	cause      string                                       // why sessions that vanish do
	down       error                                        // answer of every question
	silent     chan struct{}                                // nothing is answered before it is closed; nil: all is
	partial    bool                                         // listings are incomplete
	listed     []string                                     // all that listings have, if they are incomplete; nil: they are not
	blind      map[string]bool                              // sessions whose liveness is unknown
	onStart    func(ctx context.Context, name string) error // before the agent exists
	stubborn   map[string]int                               // stops that fail before one works; <0: all
	late       int                                          // observations of an end that do not know yet how
	orphans    map[string]string                            // agents that outlived their session, by name: the token
	shortLived bool                                         // agents end while their start returns
	polite     bool                                         // agents end when interrupted
	startLog   []string
	now        func() time.Time
	onStop     func(name string) // at each stop, with the lock held
	onStarted  func(name string) // at each start that succeeds, with the lock held

	readings   map[string]runtime.Reading                   // what Sense reads, by name; nil: all are idle
	quiet      bool                                         // it does not say when a session was last active
	hints      map[string]runtime.Hints                     // by session, as set while it ran
	deaf       bool                                         // Sense is not supported
	onObserve  func(name string)                            // before Observe answers
	onSense    func(ctx context.Context, name string) error // before Sense answers
	startNotes map[string]string                            // what a start notes with its session
	last       *runtime.Evidence                            // of agents that have ended
	onCommand  func(command string) error                   // refuses starts, with the lock held
	onRelaunch func() error                                 // after the agent was replaced, with the lock held
	halfway    bool                                         // starts make the session and then hang; nothing is undone
	attached   int                                          // terminals at each session that is started
	forgetful  bool                                         // a relaunch leaves the token
	onPeek     string                                       // what Peek returns instead of its own
}

type fakeSession struct {
	token    string
	cfg      runtime.Config
	meta     map[string]string
	exit     *runtime.Exit
	attached int
	active   time.Time
	began    time.Time
}

func newFake() *fake {
	return &fake{sessions: map[string]*fakeSession{}, calls: map[string]int{}, streams: true, blind: map[string]bool{}, stubborn: map[string]int{}, orphans: map[string]string{}, now: time.Now}
}

var (
	_ runtime.Provider         = (*fake)(nil)
	_ runtime.Observer         = (*fake)(nil)
	_ runtime.Watcher          = (*fake)(nil)
	_ runtime.Fencer           = (*fake)(nil)
	_ runtime.RelaunchProvider = (*fake)(nil)
	_ runtime.Sensor           = (*fake)(nil)
)

// count records a call and returns the lock.
func (f *fake) count(call string) func() {
	f.mu.Lock()
	f.calls[call]++
	if silent := f.silent; silent != nil {
		f.mu.Unlock()
		<-silent
		f.mu.Lock()
	}
	return f.mu.Unlock
}

func (f *fake) number(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

func (f *fake) emit(ev runtime.Event) {
	ev.Time = f.now()
	for _, w := range f.watchers {
		select {
		case w <- ev:
		default:
		}
	}
}

func (f *fake) Start(ctx context.Context, name string, cfg runtime.Config) error {
	defer f.count("start")()
	if s := f.sessions[name]; s != nil && s.exit == nil {
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
	f.sessions[name] = &fakeSession{token: cfg.Env["GC_INSTANCE_TOKEN"], cfg: cfg, meta: map[string]string{}, began: f.now(), attached: f.attached}
	if f.halfway {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return &runtime.Error{Op: "start", Session: name, Err: ctx.Err()}
	}
	maps.Copy(f.sessions[name].meta, f.startNotes)
	f.startLog = append(f.startLog, name)
	if f.onStarted != nil {
		f.onStarted(name)
	}
	f.emit(runtime.Event{Kind: runtime.EventStarted, Session: name})
	if f.shortLived {
		f.endLocked(name, 1)
	}
	return nil
}

func (f *fake) StopInstance(_ context.Context, name, token string) error {
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
		return errors.New("it will not end")
	}
	delete(f.sessions, name)
	f.emit(runtime.Event{Kind: runtime.EventGone, Session: name})
	return nil
}

func (f *fake) Stop(string) error { return errors.New("stopped without a token") }

func (f *fake) InterruptInstance(_ context.Context, name, token string) error {
	defer f.count("interrupt")()
	if s := f.sessions[name]; s != nil && s.token == token && f.polite {
		f.endLocked(name, 0)
	}
	return nil
}

func (f *fake) Interrupt(string) error { return errors.New("interrupted without a token") }

// end lets an agent end by itself.
func (f *fake) end(name string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(name, code)
}

func (f *fake) endLocked(name string, code int) {
	f.sessions[name].exit = &runtime.Exit{Code: code, At: f.now()}
	f.emit(runtime.Event{Kind: runtime.EventExited, Session: name, Exit: f.sessions[name].exit})
}

func (f *fake) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	defer f.count("sense")()
	if f.readings == nil && f.deaf {
		return runtime.Reading{}, &runtime.Error{Op: "sense", Session: name, Err: errors.ErrUnsupported}
	}
	s := f.sessions[name]
	if s == nil || s.exit != nil {
		return runtime.Reading{}, runtime.ErrSessionNotFound
	}
	token, r := s.token, f.readings[name]
	if f.readings == nil {
		r = runtime.Reading{Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle, Detail: "drawn"}}}
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

// setActivity makes an agent draw what Sense reads as the activity.
func (f *fake) setActivity(name string, activity runtime.Activity, change ...func(*runtime.Reading)) {
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

// works lets an agent print.
func (f *fake) works(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		s.active = f.now()
		f.emit(runtime.Event{Kind: runtime.EventOutput, Session: name})
	}
}

// vanish takes a session away without a word.
func (f *fake) vanish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, name)
}

func (f *fake) set(change func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fake) Observe(_ context.Context, name string) (runtime.Observation, error) {
	defer f.count("observe")()
	if hook := f.onObserve; hook != nil {
		f.mu.Unlock()
		hook(name)
		f.mu.Lock()
	}
	o := runtime.Observation{Attached: 0, At: f.now()}
	if f.down != nil {
		return o, f.down
	}
	if f.blind[name] {
		return o, nil
	}
	s := f.sessions[name]
	if s == nil {
		o.Session, o.Agent, o.Cause = runtime.Dead, runtime.Dead, f.cause
		if f.orphans[name] != "" {
			o.Agent = runtime.Alive
		}
		return o, nil
	}
	o.Session, o.Agent, o.InstanceToken, o.StartedAt = runtime.Alive, runtime.Alive, s.token, s.began
	o.Attached, o.LastActivity = s.attached, s.active
	if f.quiet {
		o.LastActivity = time.Time{}
	}
	if s.exit != nil {
		o.Agent, o.Exit, o.Last = runtime.Dead, s.exit, f.last
		if f.late > 0 {
			f.late--
			o.Exit = nil
		}
	}
	return o, nil
}

func (f *fake) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if !f.streams {
		return nil, errors.ErrUnsupported
	}
	events := make(chan runtime.Event, 4096)
	f.mu.Lock()
	events <- runtime.Event{Kind: runtime.EventResync}
	f.watchers = append(f.watchers, events)
	f.mu.Unlock()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(c chan runtime.Event) bool { return c == events })
		close(events)
	})
	return events, nil
}

func (f *fake) Relaunch(_ context.Context, name string, cfg runtime.Config) error {
	defer f.count("relaunch")()
	if f.sessions[name] == nil {
		return runtime.ErrSessionNotFound
	}
	s := f.sessions[name]
	s.cfg, s.began = cfg, f.now()
	if token := cfg.Env["GC_INSTANCE_TOKEN"]; !f.forgetful {
		s.token = token
	}
	if f.onRelaunch != nil {
		return f.onRelaunch()
	}
	return nil
}

func (f *fake) ListRunning(prefix string) ([]string, error) {
	defer f.count("list")()
	if f.down != nil {
		return nil, f.down
	}
	var names []string
	for name, s := range f.sessions {
		if strings.HasPrefix(name, prefix) && s.exit == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if f.partial || f.listed != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(f.listed, name) })
		return names, &runtime.PartialListError{Errs: []error{errors.New("half of it does not answer")}}
	}
	return names, nil
}

func (f *fake) meta(name string, do func(map[string]string)) error {
	defer f.count("meta")()
	if f.down != nil {
		return f.down
	}
	s := f.sessions[name]
	if s == nil {
		return runtime.ErrSessionNotFound
	}
	do(s.meta)
	return nil
}

func (f *fake) SetMeta(name, key, value string) error {
	return f.meta(name, func(m map[string]string) { m[key] = value })
}

func (f *fake) GetMeta(name, key string) (value string, err error) {
	err = f.meta(name, func(m map[string]string) { value = m[key] })
	return value, err
}

func (f *fake) RemoveMeta(name, key string) error {
	return f.meta(name, func(m map[string]string) { delete(m, key) })
}

func (f *fake) Nudge(name string, content []runtime.ContentBlock) error {
	defer f.count("nudge " + runtime.FlattenText(content))()
	if f.sessions[name] == nil {
		return runtime.ErrSessionNotFound
	}
	return nil
}

func (f *fake) RunLive(string, runtime.Config) error      { f.count("live")(); return nil }
func (f *fake) IsRunning(name string) bool                { return f.alive(name) }
func (f *fake) IsAttached(string) bool                    { return false }
func (f *fake) ProcessAlive(string, []string) bool        { return true }
func (f *fake) GetLastActivity(string) (time.Time, error) { return time.Time{}, nil }
func (f *fake) Attach(string) error                       { return runtime.ErrAttachUnsupported }

func (f *fake) Peek(name string, _ int) (string, error) {
	defer f.count("peek")()
	if f.onPeek != "" {
		return f.onPeek, nil
	}
	return "screen of " + name, nil
}

// SendKeys knows no key whose name has the letters of Return in another order.
func (f *fake) SendKeys(name string, keys ...string) error {
	defer f.count("keys")()
	if slices.Contains(keys, "Retrun") {
		return &runtime.Error{Op: "send keys to", Session: name, Err: &vt.KeyError{Name: "Retrun", Similar: "Return"}}
	}
	return nil
}
func (f *fake) ClearScrollback(string) error        { return nil }
func (f *fake) CopyTo(string, string, string) error { f.count("copy")(); return nil }
func (f *fake) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanStream: f.streams}
}

func (f *fake) alive(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	return s != nil && s.exit == nil
}

// lives returns the tokens of what runs, by name.
func (f *fake) lives() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for name, s := range f.sessions {
		if s.exit == nil {
			out[name] = s.token
		}
	}
	return out
}

func (f *fake) starts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.startLog)
}

func (f *fake) snapshotCalls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

func (f *fake) String() string { return fmt.Sprint(f.snapshotCalls()) }

// SetHints keeps the hints that a session is given while it runs.
func (f *fake) SetHints(_ context.Context, name, instance string, hints runtime.Hints) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	switch {
	case s == nil:
		return runtime.ErrSessionNotFound
	case instance != "" && instance != s.token:
		return runtime.ErrStaleInstance
	}
	if f.hints == nil {
		f.hints = map[string]runtime.Hints{}
	}
	f.hints[name] = hints
	return nil
}

// hintsOf returns the hints that a session was given while it ran.
func (f *fake) hintsOf(name string) runtime.Hints {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hints[name]
}
