package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/storetest"
)

// testCity is a city with a controller that a test can stop and start again, a configuration that a test
// can edit, and a provider with faults.
type testCity struct {
	t        *testing.T
	provider *testProvider
	log      *storetest.Events
	records  *recordStore
	store    session.Store  // the store of the next controller; nil: records
	change   func(*Options) // of the next controller

	mu       sync.Mutex
	desired  plan.Desired
	settings config.Daemon // a zero value is the default of the key, except for max_restarts
	loadErr  error

	c       *Controller
	cancel  context.CancelFunc
	done    chan error
	tokens  int
	stopped bool
}

// recordStore is a store in memory that counts its writes.
type recordStore struct {
	storetest.Sessions
	writes atomic.Int64
}

func (s *recordStore) Save(ctx context.Context, r session.Record) error {
	s.writes.Add(1)
	text, err := json.Marshal(r) // a database has neither tokens nor monotonic times
	if err != nil {
		return err
	}
	var kept session.Record
	if err := json.Unmarshal(text, &kept); err != nil {
		return err
	}
	return s.Sessions.Save(ctx, kept)
}

// record returns the record of a session.
func (s *recordStore) record(t *testing.T, name string) session.Record {
	t.Helper()
	records, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Session == name {
			return r
		}
	}
	t.Fatalf("the store has no record of %s", name)
	return session.Record{}
}

// inTestCity runs a test with a city in virtual time.
func inTestCity(t *testing.T, agents []string, test func(t *testing.T, w *testCity)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newTestCity(t, agents)
		test(t, w)
		w.stop()
	})
}

func newTestCity(t *testing.T, agents []string) *testCity {
	w := &testCity{t: t, provider: newTestProvider(), log: storetest.NewEvents(10_000, 0, time.Now), records: &recordStore{}}
	w.desired = plan.Desired{City: "town"}
	for _, name := range agents {
		w.desired.Sessions = append(w.desired.Sessions, agentSession(name))
	}
	return w
}

func agentSession(name string) *plan.Session {
	s := &plan.Session{
		Agent: name, Name: "gc-town-" + name, Provider: "fake", StartTimeout: 20 * time.Second,
		Config: runtime.Config{Command: "run " + name},
	}
	setHashes(s)
	return s
}

func setHashes(s *plan.Session) {
	s.Core, s.Provision = runtime.ConfigFingerprint(s.Config), runtime.ProvisionFingerprint(s.Config)
	s.Launch, s.Live = runtime.LaunchFingerprint(s.Config), runtime.LiveFingerprint(s.Config)
	s.Fields = runtime.FingerprintBreakdown(s.Config)
}

// edit changes the configuration. The next reload reads it.
func (w *testCity) edit(change func(*plan.Desired)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.desired.Sessions = slices.Clone(w.desired.Sessions)
	for i, s := range w.desired.Sessions { // the controller has those of before
		changed := *s
		w.desired.Sessions[i] = &changed
	}
	change(&w.desired)
	for _, s := range w.desired.Sessions {
		setHashes(s)
	}
}

// withDefaults returns the section [daemon] with the defaults of the keys that a controller needs.
func withDefaults(d config.Daemon) config.Daemon {
	d.PatrolInterval = cmp.Or(d.PatrolInterval, 30*time.Second)
	d.RestartWindow = cmp.Or(d.RestartWindow, time.Hour)
	d.MaxWakesPerTick = cmp.Or(d.MaxWakesPerTick, 5)
	d.ProbeConcurrency = cmp.Or(d.ProbeConcurrency, 8)
	return d
}

func (w *testCity) options() Options {
	opts := Options{
		Root: "/town", Version: "test", PID: 1,
		Load: func(context.Context) (Loaded, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return Loaded{Desired: w.desired, Settings: withDefaults(w.settings)}, w.loadErr
		},
		Provider:    func(context.Context, string) (runtime.Provider, error) { return w.provider, nil },
		Providers:   func(context.Context) ([]client.Provider, error) { return nil, nil },
		FindProgram: func(context.Context, *plan.Session) (string, error) { return "", nil },
		Changed:     func(string) {},
		Queued:      func(string) (int, time.Time) { return 0, time.Time{} },
		StoreFault:  func() error { return nil },
		EndStrays:   func(context.Context) ([]client.StopResult, error) { return nil, nil },
		Events:      w.log, Records: w.records, Logger: slog.New(slog.DiscardHandler),
		Now: time.Now, Jitter: func(d time.Duration) time.Duration { return d },
		NewToken: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.tokens++
			return fmt.Sprint("token-", w.tokens)
		},
	}
	if w.store != nil {
		opts.Records = w.store
	}
	if w.change != nil {
		w.change(&opts)
	}
	return opts
}

// start opens and runs a controller and waits until it is idle.
func (w *testCity) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	c, err := Open(ctx, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.c, w.cancel, w.done, w.stopped = c, cancel, make(chan error, 1), false
	go func() { w.done <- c.Run(ctx) }()
	synctest.Wait()
}

// stop stops the controller. The sessions continue to run.
func (w *testCity) stop() {
	w.t.Helper()
	if w.c == nil || w.stopped {
		return
	}
	w.cancel()
	w.waitForExit()
}

// waitForExit waits for a controller that exits by itself.
func (w *testCity) waitForExit() {
	w.t.Helper()
	w.stopped = true
	if err := <-w.done; err != nil {
		w.t.Errorf("the controller ended with: %v", err)
	}
}

// advance lets virtual time pass and waits until the controller is idle.
func (w *testCity) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *testCity) agent(name string) client.Agent {
	w.t.Helper()
	status, _ := w.c.Status(w.t.Context())
	for _, a := range status.Agents {
		if a.Name == name {
			return a
		}
	}
	w.t.Fatalf("status has no agent %s: %+v", name, status.Agents)
	return client.Agent{}
}

// want fails unless the agent is in the given state.
func (w *testCity) want(name, state string) {
	w.t.Helper()
	if a := w.agent(name); a.State != state {
		w.t.Errorf("%s is %s (%s), want %s", name, a.State, a.Reason, state)
	}
}

// kinds returns the events of a session so far.
func (w *testCity) kinds(session string) []string {
	events, _, _ := w.log.After(w.t.Context(), 0)
	var out []string
	for _, e := range events {
		if e.Session == session {
			out = append(out, e.Kind)
		}
	}
	return out
}

func (w *testCity) reload() error {
	_, err := w.c.Reload(w.t.Context())
	synctest.Wait()
	return err
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("a%03d", i))
	}
	return out
}

var errDown = fmt.Errorf("no answer: %w", errors.Join(runtime.ErrRuntimeUnavailable))
