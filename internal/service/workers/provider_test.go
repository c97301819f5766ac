package workers_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gascity/internal/domain/session"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/servicetest"
	"gascity/test/storetest"
	"gascity/worker"
)

// emptyCity is a city without sessions.
type emptyCity struct{}

func (emptyCity) Snapshot(string) (session.Snapshot, error) {
	return session.Snapshot{}, errors.New("not known")
}
func (emptyCity) Sense(string)    {}
func (emptyCity) HasSynced() bool { return true }

// TestConformance checks that the wrapper changes nothing for a session without a worker.
func TestConformance(t *testing.T) {
	h := fake.Harness(nil)
	wrap := func(open func(t runtimetest.T, dir string) runtime.Provider) func(t runtimetest.T, dir string) runtime.Provider {
		return func(t runtimetest.T, dir string) runtime.Provider {
			e := workers.New(servicetest.WorkerOptions(emptyCity{}, storetest.NewEvents(10, 0, nil)))
			return e.WrapProvider(open(t, dir))
		}
	}
	h.New, h.Reopen = wrap(h.New), wrap(h.Reopen)
	for _, r := range runtimetest.Run(t, h) {
		if r.Status != runtimetest.Passed {
			t.Errorf("%s %s, and the fake below has everything: %v", r.ID, r.Status, r.Detail)
		}
	}
}

// TestOneOfTwentyStartsWins checks that the run of the start that succeeded stays active, whatever
// the results and tokens of the other starts.
func TestOneOfTwentyStartsWins(t *testing.T) {
	for name, instance := range map[string]func(int) string{
		"one instance": func(int) string { return "same" },
		"many":         func(i int) string { return string(rune('a' + i)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineTest(t, nil)
			won := make(chan string, 20)
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					err := r.now().provider.Start(r.Context(), "a", config("a", instance(i)))
					if err == nil {
						won <- instance(i)
					} else if !errors.Is(err, runtime.ErrSessionExists) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(won) != 1 {
				t.Fatalf("%d starts have succeeded", len(won))
			}
			winner := <-won
			for i := range 20 {
				env := runtimeEnv(instance(i))
				err := clientOf(map[string]string{"GC_WORKER_SOCKET": r.path, "GC_WORKER_TOKEN": env.token, "GC_RUN_ID": env.run}).
					Report(r.within(), worker.Ready, worker.Detail{})
				if lives := instance(i) == winner; lives != (err == nil) {
					t.Errorf("the worker of start %d, winner %t: %v", i, lives, err)
				}
			}
			if err := r.now().provider.Start(t.Context(), "a", config("a", winner)); !errors.Is(err, runtime.ErrSessionExists) {
				t.Fatal(err)
			}
			if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", delivery("p", winner, "hello")); err != nil || out.State != runtime.OutcomeRefused && out.State != runtime.OutcomeUnconfirmed && out.State != runtime.OutcomeSubmitted {
				t.Error(out, err)
			}
		})
	}
}

// TestRelaunchEndsThePreviousRun checks that the previous worker is informed that its run has
// ended, and that the new run has no data of the previous one.
func TestRelaunchEndsThePreviousRun(t *testing.T) {
	r := newEngineTest(t, nil)
	old := r.work(r.start("a", "one"), nil)
	if _, err := r.owner().Context(r.within(), worker.Context{RunID: old.RunID, Sections: []worker.Section{{Type: "role", Content: "x"}}}); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Relaunch(t.Context(), r.now().provider, "a", config("a", "two")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-old.done:
		if err != nil {
			t.Errorf("the previous worker's stream ended with %v", err)
		}
	case <-r.within().Done():
		t.Fatal("the previous worker does not learn that it is over")
	}
	for name, err := range map[string]error{
		"report":    old.Report(r.within(), worker.Idle, worker.Detail{}),
		"authorize": func() error { _, err := old.Authorize(r.within(), worker.Call{Tool: "Read"}); return err }(),
	} {
		if !errors.Is(err, worker.ErrFenced) {
			t.Errorf("%s of the previous worker: %v, want fenced", name, err)
		}
	}
	r.restart() // the metadata of the session is still that of the previous run
	young := r.work(r.environment("a"), nil)
	answer, err := r.owner().Context(r.within(), worker.Context{RunID: young.RunID, Sections: []worker.Section{{Type: "role", Content: "x"}}})
	if err != nil || len(answer.Skipped) != 0 {
		t.Errorf("the new run got %+v, %v: it has the past of the previous one", answer, err)
	}
	if out := r.deliver(delivery("p", "two", "hello")); out.State != runtime.OutcomeSubmitted || young.texts()["hello"] != 1 {
		t.Errorf("after the relaunch: %+v, %v", out, young.texts())
	}
}

// TestOlderSnapshotChangesNothing covers a snapshot that is older than a start.
func TestOlderSnapshotChangesNothing(t *testing.T) {
	r := newEngineTest(t, nil)
	view := &fixed{controller: r.now()}
	opts := r.opts
	opts.City = view
	e := workers.New(opts)
	p := e.WrapProvider(r.agents)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() { cancel(); r.must(<-ended) }()
	see := func(v session.Snapshot) {
		view.set(v)
		e.SessionChanged("a")
		r.eventually("it has looked", func() bool { return view.isObserved() })
	}
	one, two := runtimeEnv("one"), runtimeEnv("two")
	if err := p.Start(t.Context(), "a", config("a", "one")); err != nil {
		t.Fatal(err)
	}
	see(session.Snapshot{Session: "a", Provider: p})
	if _, err := e.Authenticate(one.token); err != nil {
		t.Errorf("a view from before the start has ended the run: %v", err)
	}
	see(session.Snapshot{Session: "a", Provider: p, Token: "one", Running: true})
	if err := runtime.Relaunch(t.Context(), p, "a", config("a", "two")); err != nil {
		t.Fatal(err)
	}
	see(session.Snapshot{Session: "a", Provider: p, Token: "one", Running: true})
	if _, err := e.Authenticate(two.token); err != nil {
		t.Errorf("a view from before the relaunch has ended the new run: %v", err)
	}
	if _, err := e.Authenticate(one.token); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("a view from before the relaunch has brought the previous run back: %v", err)
	}
	see(session.Snapshot{Session: "a", Provider: p, Token: "two", Running: true})
	see(session.Snapshot{Session: "a", Provider: p})
	r.eventually("the run has ended", func() bool { _, err := e.Authenticate(two.token); return errors.Is(err, worker.ErrFenced) })
}

// fixed is a city with a fixed state.
type fixed struct {
	*controller
	mu   sync.Mutex
	view session.Snapshot
	saw  bool
}

func (f *fixed) set(v session.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.view, f.saw = v, false
}

func (f *fixed) isObserved() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saw && f.HasSynced()
}

func (f *fixed) Snapshot(string) (session.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saw = true
	return f.view, nil
}
