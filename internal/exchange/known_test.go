package exchange_test

import (
	"testing"

	"gascity/worker"
)

// TestAWorkersHealthIsKnown: what it told last stands, its silence is told and changes
// nothing else, and of an agent without a worker there is none.
func TestAWorkersHealthIsKnown(t *testing.T) {
	r := newRig(t, nil)
	env := r.start("a", "one")
	if h, ok := r.now().engine.Known("a"); ok {
		t.Errorf("nobody has spoken, and it is known %+v", h)
	}
	a := r.work(env, nil)
	usage, why := 0.73, "the disk is full"
	r.must(a.ReportHealth(r.within(), worker.Health{Status: worker.Unhealthy, ContextUsage: &usage, Error: &why}))
	h, ok := r.now().engine.Known("a")
	if !ok || h.Status != worker.Unhealthy || h.Error == nil || *h.Error != why || h.ContextUsage == nil || *h.ContextUsage != usage || h.CurrentState != "ready" || h.RunID != env["GC_RUN_ID"] {
		t.Errorf("it is known %+v", h)
	}
	a.cancel()
	r.eventually("its silence is told", func() bool {
		h, ok = r.now().engine.Known("a")
		return ok && h.Status == worker.Degraded && h.CurrentState == "ready"
	})
	if calls := r.place.Calls("Stop", "StopInstance", "Interrupt"); len(calls) > 0 {
		t.Errorf("it was ended or interrupted for its silence: %v", calls)
	}
}
