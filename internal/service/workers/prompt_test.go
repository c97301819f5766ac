package workers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/service/workers/recovery"
	"gascity/runtime"
	"gascity/worker"
)

// TestPromptsArriveOnceThroughKills: the controller is killed at any moment, among
// them right after the way of a prompt was noted and before it went; the worker
// acknowledges twice, late, and out of order. Each prompt is had once, in order, and
// none counts as submitted without the worker's word.
func TestPromptsArriveOnceThroughKills(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret
			r := newRig(t, nil)
			var words sync.Map // prompts that the worker has reported
			act := func(a *agent, m worker.Message) {
				words.Store(m.ID, true)
				for _, state := range []worker.Progress{worker.Submitted, worker.Received, worker.Submitted, worker.Consumed, worker.Submitted} {
					_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: state}) // a killed city does not take it
				}
			}
			a := r.work(r.start("a", "one"), act)
			r.has = func(id string) bool {
				return slices.ContainsFunc(a.had(worker.PromptMessage), func(m worker.Message) bool { return m.ID == id })
			}
			for n := range 25 {
				stop := r.disturb(dice.IntN(5))
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
			if calls := r.place.Calls("Deliver", "Nudge"); len(calls) > 0 {
				t.Errorf("the place was given prompts as well: %v", calls)
			}
		})
	}
}

// disturb kills the controller while a prompt is delivered, in one of several ways. The
// returned function ends it.
func (r *rig) disturb(how int) (stop func()) {
	var once sync.Once
	kill := func() { once.Do(func() { r.restart() }) }
	switch how {
	case 0:
		return func() {}
	case 1, 2: // when its way was noted, or the worker has it
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

// TestAPromptThatWasRefusedGoesAgain: the worker acts on a name once, so that it gets
// another one.
func TestAPromptThatWasRefusedGoesAgain(t *testing.T) {
	r := newRig(t, nil)
	refusals := 0
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		state := worker.Submitted
		if refusals++; refusals < 3 {
			state = worker.Refused
		}
		_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: state, Detail: "not now"}) // what it comes to is seen below
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

// TestAPromptWaitsForAWorkerThatReturns: through a restart of the controller the
// place below gets nothing, and when the worker is gone for good it does.
func TestAPromptWaitsForAWorkerThatReturns(t *testing.T) {
	r := newRig(t, nil)
	now := time.Now()
	var mu sync.Mutex
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r.restart()
	a := r.work(r.start("a", "one"), nil)
	a.cancel()
	r.must(<-a.done)
	r.eventually("its stream has ended", func() bool { return r.health(a.RunID).Status == worker.Degraded })
	d := delivery("p", "one", "hello")
	for range 2 { // also after a restart, which does not know it yet
		out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
		if err != nil || out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedUnready {
			t.Fatalf("just after the worker left: %+v, %v", out, err)
		}
		r.restart()
	}
	r.eventually("the place is given the prompt", func() bool {
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		_, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
		return err == nil && len(r.place.Calls("Deliver")) > 0
	})
}

// TestAWorkerThatOnlySpeaksIsWaitedForAWhile: one that says that it has started and never
// listens gets its prompt by the place, not before it has had its time to connect, and once.
func TestAWorkerThatOnlySpeaksIsWaitedForAWhile(t *testing.T) {
	r := newRig(t, nil)
	now := time.Now()
	var mu sync.Mutex
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r.restart()
	c := clientOf(r.start("a", "one"))
	defer c.Close()
	r.must(c.Report(r.within(), worker.Started, worker.Detail{}))
	d := delivery("p", "one", "hello")
	out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d)
	if err != nil || out.State != runtime.OutcomeRefused || out.Detail != recovery.Returning || len(r.place.Calls("Deliver")) != 0 {
		t.Fatalf("just after its word: %+v, %v", out, err)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if out, err := runtime.Deliver(t.Context(), r.now().provider, "a", d); err != nil || len(r.place.Calls("Deliver")) != 1 {
		t.Errorf("after a minute: %+v, %v; the place got %d", out, err, len(r.place.Calls("Deliver")))
	}
}

// TestAnExtensionTakesWhatIsForTheModel: an agent CLI's extension gets the prompts; what begins as
// the CLI's own commands do goes by the place, and a worker that is no extension gets that too.
func TestAnExtensionTakesWhatIsForTheModel(t *testing.T) {
	for via, typed := range map[string]int{worker.ViaHook: 1, "": 0} {
		r := newRig(t, nil)
		a := r.work(r.start("a", "one"), nil)
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: via}))
		for id, text := range map[string]string{"p1": "hello", "p2": "!ls", "p3": "/compact", "p4": "/", "p5": "// x"} {
			if _, err := runtime.Deliver(t.Context(), r.now().provider, "a", delivery(id, "one", text)); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.texts(); len(got) != 5-typed || got["hello"] != 1 || got["!ls"] != 1 || got["/"] != 1 || got["// x"] != 1 || len(r.place.Calls("Deliver")) != typed {
			t.Errorf("reported by %q, the worker was given %v, and the place %d prompts", via, got, len(r.place.Calls("Deliver")))
		}
	}
}

func (r *rig) health(run string) worker.Health {
	r.Helper()
	h, err := r.owner().Health(r.Context(), run)
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// TestASilentWorkerConfirmsNothing: what is handed over is not what is taken, and what
// was not fetched can go again.
func TestASilentWorkerConfirmsNothing(t *testing.T) {
	r := newRig(t, nil)
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

// TestAWorkerMaySpeakWhileItIsStarted: what it says then is known to a later
// controller too, which else would wait for its ready for ever.
func TestAWorkerMaySpeakWhileItIsStarted(t *testing.T) {
	r := newRig(t, nil)
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
				_ = c.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}) // what it comes to is seen below
			}
		}
	}()
	r.eventually("it is connected", func() bool {
		h, err := r.owner().Health(r.within(), c.RunID)
		return err == nil && h.Status == worker.Healthy
	})
	if out := r.deliver(delivery("p", "one", "hello")); out.State != runtime.OutcomeSubmitted || len(r.place.Calls("Deliver")) != 0 {
		t.Errorf("after a restart: %+v", out)
	}
}

// TestAPromptThatAControllerLeftIsAskedForUntilItsWorkerSpeaks: a controller is killed right after
// it noted that a prompt goes to a worker. The next one sends the prompt again, and as long as the
// worker is connected and says nothing, the outcome is to be asked for again and is not final.
func TestAPromptThatAControllerLeftIsAskedForUntilItsWorkerSpeaks(t *testing.T) {
	r := newRig(t, nil)
	speaks := make(chan struct{})
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		<-speaks
		_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}) // what it comes to is seen below
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
