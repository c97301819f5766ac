package questions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// agent is an agent that asks, as a driver shows it: the service sees it only through readings and
// Respond.
type agent struct {
	runtime.Provider // nil: the desk may call nothing else

	mu      sync.Mutex
	asks    *runtime.PendingInteraction
	answers []runtime.InteractionResponse
	refuse  error // of Respond
	deaf    bool  // takes answers without effect
	unread  error // of Pending
	onTake  func()
	hasten  int           // Respond finds the next reading of a dialog that counts, so often
	slow    chan struct{} // Respond waits for it
}

func (a *agent) Pending(string) (*runtime.PendingInteraction, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asks, a.unread
}

func (a *agent) Respond(_ string, r runtime.InteractionResponse) error {
	if a.slow != nil {
		<-a.slow
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hasten > 0 && a.asks != nil {
		a.hasten--
		next := *a.asks
		next.RequestID += "+"
		next.Prompt = fmt.Sprintf("Proceed? (%ds)", a.hasten)
		a.asks = &next
		return runtime.ErrInteractionGone
	}
	switch {
	case a.refuse != nil:
		return a.refuse
	case a.asks == nil || a.asks.RequestID != r.RequestID:
		return errors.New("that is not what is asked now")
	}
	a.answers = append(a.answers, r)
	if !a.deaf {
		a.asks = nil
	}
	if a.onTake != nil {
		a.onTake()
	}
	return nil
}

// fakeCity is a scripted city for a service.
type fakeCity struct {
	t     *testing.T
	store *flakyStore
	log   *event.Memory
	desk  *Service
	opts  Options
	stop  func()

	mu     sync.Mutex
	views  map[string]session.Snapshot
	told   []client.Pending
	notify func(context.Context, client.Pending) error
}

func newFakeCity(t *testing.T) *fakeCity {
	w := &fakeCity{t: t, store: &flakyStore{}, log: event.NewMemory(1000, 0, time.Now), views: map[string]session.Snapshot{}}
	w.opts = Options{
		City: w, Store: w.store, Events: w.log, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Random: rand.Text,
		Notify: func(ctx context.Context, p client.Pending) error {
			w.mu.Lock()
			w.told = append(w.told, p)
			then := w.notify
			w.mu.Unlock()
			if then != nil {
				return then(ctx, p)
			}
			return nil
		},
	}
	return w
}

// run starts a service with the city's store. The end of the test stops it.
func (w *fakeCity) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context())) // a desk outlives the test's own end
	desk := New(w.opts)
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	var once sync.Once
	w.desk = desk
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

func (w *fakeCity) Snapshots() []session.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.views))
}

// agent adds an agent that runs and asks nothing.
func (w *fakeCity) agent(name string) *agent {
	a := &agent{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views[name] = session.Snapshot{
		Agent: name, Session: "s-" + name, Provider: a, State: client.StateRunning, Running: true, Ready: true,
		Instance: name + "-1", Token: "secret", ReadAt: time.Now(),
	}
	return a
}

// raiseQuestion makes the agent ask and the controller read it.
func (w *fakeCity) raiseQuestion(name string, asked runtime.PendingInteraction) {
	a := w.provider(name)
	a.mu.Lock()
	a.asks = &asked
	a.mu.Unlock()
	w.read(name)
}

func (w *fakeCity) provider(name string) *agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.views[name].Provider.(*agent)
}

// read simulates that the controller reads the session now and notifies the service.
func (w *fakeCity) read(name string) {
	a := w.provider(name)
	a.mu.Lock()
	asks := a.asks
	a.mu.Unlock()
	w.change(name, func(v *session.Snapshot) { v.Pending, v.ReadAt = asks, time.Now() })
}

// change simulates that the controller gets new data about a session.
func (w *fakeCity) change(name string, f func(*session.Snapshot)) {
	w.mu.Lock()
	v := w.views[name]
	f(&v)
	w.views[name] = v
	desk := w.desk
	w.mu.Unlock()
	if desk != nil {
		desk.SessionChanged(v.Session)
		synctest.Wait()
	}
}

// readsBack makes the controller read the session after each answer.
func (w *fakeCity) readsBack(name string) {
	a := w.provider(name)
	a.onTake = func() {
		asks := a.asks
		go func() {
			time.Sleep(50 * time.Millisecond) // of the bubble: the agent redraws
			w.mu.Lock()
			v := w.views[name]
			v.Pending, v.ReadAt = asks, time.Now()
			w.views[name] = v
			w.mu.Unlock()
			w.desk.SessionChanged(v.Session)
		}()
	}
}

func (w *fakeCity) list() []client.Pending {
	w.t.Helper()
	all, err := w.desk.Pending(w.t.Context(), "", client.WithEnded)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// only returns the only episode that there is.
func (w *fakeCity) only() client.Pending {
	w.t.Helper()
	all := w.list()
	if len(all) != 1 {
		w.t.Fatalf("there are %d episodes, want one: %+v", len(all), all)
	}
	return all[0]
}

func (w *fakeCity) alerts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.told)
}

// kinds returns those of the events so far.
func (w *fakeCity) kinds() []string {
	events, _, _ := w.log.After(0) // Memory never fails
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

// flakyStore is a store that can fail.
type flakyStore struct {
	session.Memory
	mu     sync.Mutex
	broken error
	saves  int
}

func (s *flakyStore) SavePending(ctx context.Context, p session.Pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.broken != nil {
		return s.broken
	}
	return s.Memory.SavePending(ctx, p)
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

func permission(id string) runtime.PendingInteraction {
	return runtime.PendingInteraction{
		RequestID: id, Kind: runtime.WaitPermission, Prompt: "Run this?\n  rm -rf ./build · ünï\tcode",
		Options:  []string{"Yes", "Yes, and don't ask again", "No, and tell it why"},
		Metadata: map[string]string{runtime.MetaTool: "Bash", runtime.MetaInput: "rm -rf ./build", runtime.MetaSource: "screen"},
	}
}
