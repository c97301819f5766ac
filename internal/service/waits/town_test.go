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

// town is a scripted city around the waits.
type town struct {
	t     *testing.T
	store *shelf
	log   *event.Memory
	waits *Waits
	opts  Options
	stop  func()

	mu        sync.Mutex
	views     map[string]session.View
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

func newTown(t *testing.T) *town {
	w := &town{
		t: t, store: &shelf{}, log: event.NewMemory(1000, 0, time.Now), views: map[string]session.View{},
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

// run starts the waits over the town's store; the test's end stops them.
func (w *town) run() {
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

func (w *town) View(name string) (session.View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		if v.Session == name || v.Agent == name {
			return v, nil
		}
	}
	return session.View{}, fmt.Errorf("%w: no agent or session is called %q", client.ErrNotFound, name)
}

func (w *town) BeginsBy(string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begins
}

func (w *town) Receipt(_ context.Context, id, _ string) (client.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.receipts[id]
	if !ok {
		return r, fmt.Errorf("%w: receipt %s", client.ErrNotFound, id)
	}
	return r, nil
}

func (w *town) Question(_ context.Context, id string) (client.Pending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.questions[id]
	if !ok {
		return p, fmt.Errorf("%w: question %s", client.ErrNotFound, id)
	}
	return p, nil
}

// Nudge keeps one prompt for each key, as the engine of prompts does.
func (w *town) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
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
func (w *town) agent(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views[name] = session.View{
		Agent: name, Session: "s-" + name, Desired: "running", State: session.StateRunning, Running: true, Ready: true,
		Instance: name + "-1", Activity: session.Activity{State: runtime.ActivityBusy},
	}
}

// change is the controller learning something about the session.
func (w *town) change(name string, f func(*session.View)) {
	w.mu.Lock()
	v := w.views[name]
	f(&v)
	w.views[name] = v
	w.mu.Unlock()
	w.waits.Look(v.Session)
	synctest.Wait()
}

func (w *town) remove(name string) {
	w.mu.Lock()
	v := w.views[name]
	delete(w.views, name)
	w.mu.Unlock()
	w.waits.Look(v.Session)
	synctest.Wait()
}

func (w *town) add(req client.WaitRequest) client.Wait {
	w.t.Helper()
	got, err := w.waits.AddWait(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return got
}

func (w *town) find(id string) client.Wait {
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

func (w *town) told() []nudge {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]nudge(nil), w.nudges...)
}

func (w *town) ran() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs
}

// outcome is what an Await returned.
type outcome struct {
	wait client.Wait
	err  error
	took time.Duration
}

// wait begins to wait; the channel has the outcome when it has ended.
func (w *town) wait(ctx context.Context, req client.WaitRequest) <-chan outcome {
	done := make(chan outcome, 1)
	start := time.Now()
	go func() {
		got, err := w.waits.Await(ctx, req)
		done <- outcome{got, err, time.Since(start)}
	}()
	synctest.Wait()
	return done
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// shelf is a store that can fail.
type shelf struct {
	session.Memory
	mu     sync.Mutex
	broken error
	saves  int
}

func (s *shelf) SaveWait(ctx context.Context, k session.Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.broken != nil {
		return s.broken
	}
	return s.Memory.SaveWait(ctx, k)
}

func (s *shelf) setBroken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves
}

func (s *shelf) healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken == nil
}
