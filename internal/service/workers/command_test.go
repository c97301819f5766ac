package workers_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// TestPromptWaitsForATypedCommand: after a typed command, no prompt is sent to the worker before the
// worker reports that it accepts prompts again, or before the terminal had no output for some time. A later
// controller waits, too.
func TestPromptWaitsForATypedCommand(t *testing.T) {
	r := newEngineTest(t, nil)
	var mu sync.Mutex
	now := time.Now() // a fixed time: a slow machine must not end the wait
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		return now
	}
	r.restart()
	a := r.work(r.start("a", "one"), nil)
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: worker.ViaHook}))
	give := func(id, text string, within time.Duration) runtime.Outcome {
		t.Helper()
		ctx, cancel := context.WithTimeout(r.within(), within)
		defer cancel()
		out, err := runtime.Deliver(ctx, r.now().provider, "a", delivery(id, "one", text))
		r.must(err)
		return out
	}
	give("c1", "/new", patience)
	for range 2 { // also under a later controller
		if out := give("p1", "first", 100*time.Millisecond); !out.Unsent || len(a.texts()) > 0 {
			t.Fatalf("behind the command: %+v; the worker has %v", out, a.texts())
		}
		r.restart()
		r.eventually("the worker is back", func() bool { // the server answers when the city has synced
			h, err := r.owner().Health(r.Context(), a.RunID)
			return err == nil && h.Status == worker.Healthy
		})
	}
	r.must(a.ReportAt(r.within(), worker.Ready, pass(time.Second), worker.Detail{Via: worker.ViaHook}))
	if out := give("p1", "first", patience); out.State != runtime.OutcomeSubmitted {
		t.Errorf("after the worker's report: %+v", out)
	}
	give("c2", "/status", patience)
	if out := give("p2", "second", 100*time.Millisecond); !out.Unsent {
		t.Errorf("behind a command that is not reported: %+v", out)
	}
	pass(time.Minute)
	if out := give("p2", "second", patience); out.State != runtime.OutcomeSubmitted {
		t.Errorf("after the terminal was at rest: %+v", out)
	}
	if got := a.texts(); len(got) != 2 || got["first"] != 1 || got["second"] != 1 || len(r.agents.Calls("Deliver")) != 2 {
		t.Errorf("the worker has %v, and %d commands were typed", got, len(r.agents.Calls("Deliver")))
	}
}
