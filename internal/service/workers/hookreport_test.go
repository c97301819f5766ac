package workers_test

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// TestHooksReportPrompts: a hook's report of the prompt that started a turn, and of the end of the turn, is
// forwarded once, with its time. Late reports, and reports of other sources, are not forwarded.
func TestHooksReportPrompts(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	hash := worker.PromptHash("do it")
	began := time.Now()
	r.must(a.Report(r.within(), worker.Busy, worker.Detail{Via: worker.ViaHook, PromptHash: hash}))
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: worker.ViaHook})) // the agent waits for its user: no turn has ended
	r.must(a.Report(r.within(), worker.Busy, worker.Detail{PromptHash: hash}))
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: worker.ViaHook, Reason: worker.TurnDone}))
	r.mu.Lock()
	heard := slices.Clone(r.hookReports)
	r.mu.Unlock()
	if len(heard) != 2 || heard[0].Hash != hash || heard[1].Hash != "" {
		t.Fatalf("the queue of prompts received %+v", heard)
	}
	for _, w := range heard {
		if w.Session != "a" || w.Instance != session.PublicInstance("one") || w.At.Before(began) || w.At.After(time.Now()) {
			t.Errorf("it received %+v", w)
		}
	}
	late := worker.Lifecycle{Event: worker.Busy, Timestamp: began.Add(-time.Second), Metadata: worker.Detail{Via: worker.ViaHook, PromptHash: hash}}
	for range 2 {
		answer, err := r.now().engine.Lifecycle(r.within(), a.RunID, late)
		if err != nil || !answer.Late {
			t.Errorf("a late report is %+v, %v", answer, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.hookReports) != 2 {
		t.Errorf("a late report named prompts: %+v", r.hookReports[2:])
	}
}
