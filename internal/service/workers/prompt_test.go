package workers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/worker"
)

// TestPromptsArriveOnceAlthoughControllersAreKilled: the controller is killed at any moment, also
// after the route of a prompt was saved and before it was sent. The worker acknowledges twice, late, and out of
// order. Each prompt arrives once, in order, and none counts as submitted without an acknowledgement.
func TestPromptsArriveOnceAlthoughControllersAreKilled(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret
			r := newEngineTest(t, nil)
			var words sync.Map // prompts that the worker has reported
			act := func(a *agent, m worker.Message) {
				words.Store(m.ID, true)
				for _, state := range []worker.Progress{worker.Submitted, worker.Received, worker.Submitted, worker.Consumed, worker.Submitted} {
					_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: state}) // a killed controller does not get it
				}
			}
			a := r.work(r.start("a", "one"), act)
			r.has = func(id string) bool {
				return slices.ContainsFunc(a.had(worker.PromptMessage), func(m worker.Message) bool { return m.ID == id })
			}
			for n := range 25 {
				stop := r.disturb(random.IntN(5))
				id := fmt.Sprint("p", n)
				out := r.deliver(delivery(id, "one", fmt.Sprint("text ", n)))
				stop()
				if _, said := words.Load(id); out.State != runtime.OutcomeSubmitted || !said {
					t.Fatalf("prompt %d: %+v; the worker has said something: %t", n, out, said)
				}
			}
			for n := range 25 {
				if got := a.texts()[fmt.Sprint("text ", n)]; got != 1 {
					t.Errorf("prompt %d came %d times", n, got)
				}
			}
			for n, m := range a.had(worker.PromptMessage) {
				if m.ID != fmt.Sprint("p", n) {
					t.Errorf("prompt %d is %s", n, m.ID)
				}
			}
			if calls := r.agents.Calls("Deliver", "Nudge"); len(calls) > 0 {
				t.Errorf("prompts were also sent to the terminal: %v", calls)
			}
		})
	}
}

// disturb kills the controller while a prompt is delivered, in one of several ways. The
// returned function ends it.
func (r *engineTest) disturb(how int) (stop func()) {
	var once sync.Once
	kill := func() { once.Do(func() { r.restart() }) }
	switch how {
	case 0:
		return func() {}
	case 1, 2: // when the route was saved, or the worker has got it
		hook := &r.onNote
		if how == 2 {
			hook = &r.onPrompt
		}
		unhook := func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			*hook = nil
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		*hook = func() { unhook(); kill() }
		return unhook
	default: // some time
		var done sync.WaitGroup
		done.Go(func() {
			<-time.After(time.Duration(how) * time.Millisecond)
			kill()
		})
		return done.Wait
	}
}

// TestRefusedPromptIsSentAgain: the retry has another message id, because the worker processes each id once.
func TestRefusedPromptIsSentAgain(t *testing.T) {
	r := newEngineTest(t, nil)
	refusals := 0
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		state := worker.Submitted
		if refusals++; refusals < 3 {
			state = worker.Refused
		}
		_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: state, Detail: "not now"}) // the result is checked below
	})
	d := delivery("p", "one", "hello")
	for i := range 2 {
		out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
		if err != nil || !out.Unsent || !prompt.WorkerRefused(out) {
			t.Fatalf("attempt %d: %+v, %v", i, out, err)
		}
	}
	if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Fatalf("the third attempt: %+v, %v", out, err)
	}
	if out, err := runtime.Settle(t.Context(), r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("settled: %+v, %v", out, err)
	}
	names := map[string]bool{}
	for _, m := range a.had(worker.PromptMessage) {
		names[m.ID] = true
	}
	if len(names) != 3 {
		t.Errorf("three attempts went under %v", names)
	}
}

// TestPromptWaitsForADisconnectedWorker: during a restart of the controller the
// prompt is not sent to the terminal. When the worker does not return, it is.
func TestPromptWaitsForADisconnectedWorker(t *testing.T) {
	r := newEngineTest(t, nil)
	now := time.Now()
	var mu sync.Mutex
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r.restart()
	a := r.work(r.start("a", "one"), nil)
	a.cancel()
	r.must(<-a.done)
	r.eventually("its stream has ended", func() bool { return r.health(a.RunID).Status == worker.Degraded })
	d := delivery("p", "one", "hello")
	for range 2 { // also after a restart, before the worker is connected
		out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
		if err != nil || out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedUnready {
			t.Fatalf("just after the worker left: %+v, %v", out, err)
		}
		r.restart()
	}
	r.eventually("the prompt is sent to the terminal", func() bool {
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		_, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
		return err == nil && len(r.agents.Calls("Deliver")) > 0
	})
}

// TestWorkerThatNeverConnectsIsAwaited: a worker reports its start and never connects. Its prompt
// is sent to the terminal once, after the time to connect has passed.
func TestWorkerThatNeverConnectsIsAwaited(t *testing.T) {
	r := newEngineTest(t, nil)
	now := time.Now()
	var mu sync.Mutex
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r.restart()
	c := clientOf(r.start("a", "one"))
	defer c.Close()
	r.must(c.Report(r.within(), worker.Started, worker.Detail{}))
	d := delivery("p", "one", "hello")
	out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
	if err != nil || out.State != runtime.OutcomeRefused || out.Detail != workers.WorkerReturning || len(r.agents.Calls("Deliver")) != 0 {
		t.Fatalf("just after its word: %+v, %v", out, err)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d); err != nil || len(r.agents.Calls("Deliver")) != 1 {
		t.Errorf("after a minute: %+v, %v; the place got %d", out, err, len(r.agents.Calls("Deliver")))
	}
}

// TestExtensionGetsPromptsButNoCommands: an agent CLI's extension gets the prompts. A text that begins like
// a command of the CLI is sent to the terminal. A worker that is no extension gets both.
func TestExtensionGetsPromptsButNoCommands(t *testing.T) {
	for via, typed := range map[string]int{worker.ViaHook: 1, "": 0} {
		r := newEngineTest(t, nil)
		a := r.work(r.start("a", "one"), nil)
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: via}))
		for id, text := range map[string]string{"p1": "hello", "p2": "!ls", "p3": "/compact", "p4": "/", "p5": "// x"} {
			if _, err := runtime.Deliver(t.Context(), r.now().provider, "a", delivery(id, "one", text)); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.texts(); len(got) != 5-typed || got["hello"] != 1 || got["!ls"] != 1 || got["/"] != 1 || got["// x"] != 1 || len(r.agents.Calls("Deliver")) != typed {
			t.Errorf("reported by %q, the worker was given %v, and the place %d prompts", via, got, len(r.agents.Calls("Deliver")))
		}
	}
}

func (r *engineTest) health(run string) worker.Health {
	r.Helper()
	h, err := r.owner().Health(r.Context(), run)
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// TestSilentWorkerConfirmsNothing: a sent prompt is not an accepted one, and a prompt that was not
// fetched can be sent again.
func TestSilentWorkerConfirmsNothing(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), func(*agent, worker.Message) {})
	d := delivery("p", "one", "hello")
	d.Confirm = 50 * time.Millisecond
	out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
	if err != nil || out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("a worker that says nothing: %+v, %v", out, err)
	}
	r.must(a.Ack(r.within(), worker.Ack{ID: "p", State: worker.Received}))
	if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeUnconfirmed || len(a.had(worker.PromptMessage)) != 1 {
		t.Errorf("a worker that has received it: %+v, %v; it had it %d times", out, err, len(a.had(worker.PromptMessage)))
	}
	r.must(a.Ack(r.within(), worker.Ack{ID: "p", State: worker.Submitted}))
	if out, err := runtime.Settle(t.Context(), r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("settled after its word: %+v, %v", out, err)
	}
	r.must(a.Report(r.within(), worker.Busy, worker.Detail{}))
	if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", delivery("q", "one", "x")); err != nil || out.Reason != runtime.RefusedBusy {
		t.Errorf("a busy worker: %+v, %v", out, err)
	}
}

// TestReportsDuringAStartAreKept: reports during a start are known to the next controller, which
// otherwise would wait for them without end.
func TestReportsDuringAStartAreKept(t *testing.T) {
	r := newEngineTest(t, nil)
	r.blind.Store(true)
	r.onStart = func(env map[string]string) {
		c := clientOf(env)
		defer c.Close()
		r.must(c.Report(r.within(), worker.Started, worker.Detail{}))
		r.must(c.Report(r.within(), worker.Ready, worker.Detail{}))
	}
	env := r.start("a", "one")
	r.blind.Store(false)
	r.restart()
	c := clientOf(env)
	defer c.Close()
	go func() {
		for m, err := range c.Messages(r.within()) {
			if err == nil {
				_ = c.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}) // the result is checked below
			}
		}
	}()
	r.eventually("it is connected", func() bool {
		h, err := r.owner().Health(r.within(), c.RunID)
		return err == nil && h.Status == worker.Healthy
	})
	if out := r.deliver(delivery("p", "one", "hello")); out.State != runtime.OutcomeSubmitted || len(r.agents.Calls("Deliver")) != 0 {
		t.Errorf("after a restart: %+v", out)
	}
}

// TestOutcomeAfterAKillIsUnknownUntilTheWorkerReports: a controller is killed after it has saved
// that a prompt is sent to a worker. The next one sends the prompt again. As long as the worker is connected and
// reports nothing, the outcome is not final.
func TestOutcomeAfterAKillIsUnknownUntilTheWorkerReports(t *testing.T) {
	r := newEngineTest(t, nil)
	speaks := make(chan struct{})
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		<-speaks
		_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}) // the result is checked below
	})
	r.mu.Lock()
	r.onNote = sync.OnceFunc(func() { r.restart() })
	r.mu.Unlock()
	d := delivery("p", "one", "hello")
	d.Confirm = 50 * time.Millisecond
	if out, err := runtime.Deliver(r.now().life, r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeUnconfirmed && !out.Unsent {
		t.Fatalf("under a controller that is killed: %+v, %v", out, err)
	}
	r.eventually("the prompt is with the worker", func() bool {
		out, err := runtime.Settle(t.Context(), r.now().provider, "a", d)
		if err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason != runtime.RefusedUnready {
			t.Fatalf("while the worker says nothing: %+v, %v", out, err)
		}
		return len(a.had(worker.PromptMessage)) == 1
	})
	for range 3 {
		if out, err := runtime.Settle(t.Context(), r.now().provider, "a", d); err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason != runtime.RefusedUnready {
			t.Errorf("while the worker says nothing: %+v, %v", out, err)
		}
	}
	close(speaks)
	r.eventually("its word is known", func() bool {
		out, err := runtime.Settle(t.Context(), r.now().provider, "a", d)
		return err == nil && out.State == runtime.OutcomeSubmitted
	})
}
