package waits

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// fakeCity is a scripted city for the waits service.
type fakeCity struct {
	t     *testing.T
	store *flakyStore
	log   *event.Memory
	waits *Service
	opts  Options
	stop  func()

	mu        sync.Mutex
	views     map[string]session.Snapshot
	receipts  map[string]client.Receipt
	questions map[string]client.Pending
	begins    time.Time // of every session, see Prompts
	nudges    []nudge
	byKey     map[string]client.Receipt
	refuse    error // of Nudge
	calls     atomic.Int32
	slow      chan struct{} // Nudge waits for it
	runs      int
	shell     func(ctx context.Context) error
}

type nudge struct {
	target string
	req    client.NudgeRequest
}

func newFakeCity(t *testing.T) *fakeCity {
	w := &fakeCity{
		t: t, store: &flakyStore{}, log: event.NewMemory(1000, 0, time.Now), views: map[string]session.Snapshot{},
		receipts: map[string]client.Receipt{}, questions: map[string]client.Pending{}, byKey: map[string]client.Receipt{},
	}
	w.opts = Options{
		City: w, Prompts: w, Questions: w, Store: w.store, Events: w.log, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Random: rand.Text,
		Shell: func(ctx context.Context, _ string) error {
			w.mu.Lock()
			w.runs++
			then := w.shell
			w.mu.Unlock()
			return then(ctx)
		},
	}
	return w
}

// run starts the service with the city's store. The end of the test stops it.
func (w *fakeCity) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context())) // the waits outlive the test's own end
	waits := New(w.opts)
	done := make(chan error, 1)
	go func() { done <- waits.Run(ctx) }()
	var once sync.Once
	w.waits = waits
	w.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				w.t.Errorf("Run returned %v", err)
			}
		})
	}
	w.t.Cleanup(w.stop)
	synctest.Wait()
}

func (w *fakeCity) Snapshot(name string) (session.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		if v.Session == name || v.Agent == name {
			return v, nil
		}
	}
	return session.Snapshot{}, fmt.Errorf("%w: no agent or session is called %q", client.ErrNotFound, name)
}

func (w *fakeCity) BeginsBy(string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begins
}

func (w *fakeCity) Receipt(_ context.Context, id, _ string) (client.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.receipts[id]
	if !ok {
		return r, fmt.Errorf("%w: receipt %s", client.ErrNotFound, id)
	}
	return r, nil
}

func (w *fakeCity) Question(_ context.Context, id string) (client.Pending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.questions[id]
	if !ok {
		return p, fmt.Errorf("%w: question %s", client.ErrNotFound, id)
	}
	return p, nil
}

// Nudge keeps one prompt for each key, as the engine of prompts does.
func (w *fakeCity) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	kept, _ := w.store.LoadWaits(ctx) // Memory never fails
	for _, k := range kept {
		if k.ID == req.Key && k.State == client.WaitOpen && w.store.healthy() {
			w.t.Errorf("%s is notified of the end of %s before it is durable", target, k.ID)
		}
	}
	w.calls.Add(1)
	if w.slow != nil {
		<-w.slow
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return client.Receipt{}, w.refuse
	}
	if r, known := w.byKey[req.Key]; known {
		return r, nil
	}
	w.nudges = append(w.nudges, nudge{target, req})
	r := client.Receipt{ID: fmt.Sprintf("r-%d", len(w.nudges))}
	w.byKey[req.Key] = r
	return r, nil
}

// agent adds an agent that runs and is busy.
func (w *fakeCity) agent(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views[name] = session.Snapshot{
		Agent: name, Session: "s-" + name, Desired: "running", State: session.StateRunning, Running: true, Ready: true,
		Instance: name + "-1", Activity: session.Activity{State: runtime.ActivityBusy},
	}
}

// change simulates that the controller gets new data about a session.
func (w *fakeCity) change(name string, f func(*session.Snapshot)) {
	w.mu.Lock()
	v := w.views[name]
	f(&v)
	w.views[name] = v
	w.mu.Unlock()
	w.waits.SessionChanged(v.Session)
	synctest.Wait()
}

func (w *fakeCity) remove(name string) {
	w.mu.Lock()
	v := w.views[name]
	delete(w.views, name)
	w.mu.Unlock()
	w.waits.SessionChanged(v.Session)
	synctest.Wait()
}

func (w *fakeCity) add(req client.WaitRequest) client.Wait {
	w.t.Helper()
	got, err := w.waits.AddWait(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return got
}

func (w *fakeCity) find(id string) client.Wait {
	w.t.Helper()
	all, err := w.waits.Waits(w.t.Context(), client.WithEnded)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, each := range all {
		if each.ID == id {
			return each
		}
	}
	w.t.Fatalf("there is no wait %s", id)
	return client.Wait{}
}

func (w *fakeCity) notifications() []nudge {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]nudge(nil), w.nudges...)
}

func (w *fakeCity) ran() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs
}

// outcome is the result of an Await call.
type outcome struct {
	wait client.Wait
	err  error
	took time.Duration
}

// startWait calls Await in a goroutine. The channel receives the outcome.
func (w *fakeCity) startWait(ctx context.Context, req client.WaitRequest) <-chan outcome {
	done := make(chan outcome, 1)
	start := time.Now()
	go func() {
		got, err := w.waits.Await(ctx, req)
		done <- outcome{got, err, time.Since(start)}
	}()
	synctest.Wait()
	return done
}

func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// flakyStore is a store that can fail.
type flakyStore struct {
	session.Memory
	mu     sync.Mutex
	broken error
	saves  int
}

func (s *flakyStore) SaveWait(ctx context.Context, k session.Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.broken != nil {
		return s.broken
	}
	return s.Memory.SaveWait(ctx, k)
}

func (s *flakyStore) setBroken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *flakyStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves
}

func (s *flakyStore) healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken == nil
}
