package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// fakeCity is a city in a test: a fake place, a configuration that a test can edit,
// and a controller that a test can end and begin again.
type fakeCity struct {
	t       *testing.T
	fake    *fake
	log     *event.Memory
	records *countingStore
	store   session.Store  // what the controller gets; nil: records
	change  func(*Options) // of the next controller

	mu       sync.Mutex
	desired  plan.Desired
	settings Settings
	loadErr  error

	c       *Controller
	cancel  context.CancelFunc
	done    chan error
	tokens  int
	stopped bool
}

// countingStore counts the writes of a store.
type countingStore struct {
	session.Memory
	mu     sync.Mutex
	writes int
}

func (s *countingStore) Save(ctx context.Context, r session.Record) error {
	s.mu.Lock()
	s.writes++
	s.mu.Unlock()
	text, err := json.Marshal(r) // a store keeps what is on paper, and no token
	if err != nil {
		return err
	}
	var kept session.Record
	if err := json.Unmarshal(text, &kept); err != nil {
		return err
	}
	return s.Memory.Save(ctx, kept)
}

// record returns what the store has of a session.
func (s *countingStore) record(t *testing.T, name string) session.Record {
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

func (s *countingStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// inFakeCity runs a test in a bubble of its own time.
func inFakeCity(t *testing.T, agents []string, test func(t *testing.T, w *fakeCity)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t, agents)
		test(t, w)
		w.end()
	})
}

func newFakeCity(t *testing.T, agents []string) *fakeCity {
	w := &fakeCity{t: t, fake: newFake(), log: event.NewMemory(10_000, 0, time.Now), records: &countingStore{}}
	w.desired = plan.Desired{City: "town", Root: "/town"}
	for _, name := range agents {
		w.desired.Sessions = append(w.desired.Sessions, agentSession(name))
	}
	return w
}

func agentSession(name string) plan.Session {
	s := plan.Session{
		Agent: name, Name: "gc-town-" + name, Provider: "fake", StartTimeout: 20 * time.Second,
		Config: runtime.Config{Command: "run " + name},
	}
	return hashed(s)
}

func hashed(s plan.Session) plan.Session {
	s.Core, s.Provision = runtime.ConfigFingerprint(s.Config), runtime.ProvisionFingerprint(s.Config)
	s.Launch, s.Live = runtime.LaunchFingerprint(s.Config), runtime.LiveFingerprint(s.Config)
	s.Fields = runtime.FingerprintBreakdown(s.Config)
	return s
}

// edit changes the configuration as an editor would: the next reload sees it.
func (w *fakeCity) edit(change func(*plan.Desired)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sessions := slices.Clone(w.desired.Sessions)
	w.desired.Sessions = sessions
	change(&w.desired)
	for i := range w.desired.Sessions {
		w.desired.Sessions[i] = hashed(w.desired.Sessions[i])
	}
}

func (w *fakeCity) options() Options {
	opts := Options{
		Root: "/town", Version: "test", PID: 1,
		Load: func(context.Context) (Loaded, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return Loaded{Desired: w.desired, Settings: w.settings}, w.loadErr
		},
		Provider:  func(context.Context, string) (runtime.Provider, error) { return w.fake, nil },
		Providers: func(context.Context) ([]client.Provider, error) { return nil, nil },
		Events:    w.log, Records: w.records, Logger: slog.New(slog.DiscardHandler),
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

// begin opens and runs a controller and waits until it rests.
func (w *fakeCity) begin() {
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

// end ends the controller and leaves the sessions.
func (w *fakeCity) end() {
	w.t.Helper()
	if w.c == nil || w.stopped {
		return
	}
	w.stopped = true
	w.cancel()
	if err := <-w.done; err != nil {
		w.t.Errorf("the controller ended with: %v", err)
	}
}

// joined waits for a controller that ends by itself.
func (w *fakeCity) joined() {
	w.t.Helper()
	w.stopped = true
	if err := <-w.done; err != nil {
		w.t.Errorf("the controller ended with: %v", err)
	}
}

// after lets fake time pass and waits for rest.
func (w *fakeCity) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *fakeCity) agent(name string) client.Agent {
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
func (w *fakeCity) want(name, state string) {
	w.t.Helper()
	if a := w.agent(name); a.State != state {
		w.t.Errorf("%s is %s (%s), want %s", name, a.State, a.Reason, state)
	}
}

// kinds returns the events of a session so far.
func (w *fakeCity) kinds(session string) []string {
	events, _, _ := w.log.After(0)
	var out []string
	for _, e := range events {
		if e.Session == session {
			out = append(out, e.Kind)
		}
	}
	return out
}

func (w *fakeCity) reload() error {
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
