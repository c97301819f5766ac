package workers_test

import (
	"testing"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// TestHealthOfAWorker: the last report counts, silence is reported and changes nothing else, and an agent without
// a worker has no health.
func TestHealthOfAWorker(t *testing.T) {
	r := newEngineTest(t, nil)
	env := r.start("a", "one")
	health := func() *client.Worker { return r.now().engine.CachedHealth("a", session.PublicInstance("one")) }
	if h := health(); h != nil {
		t.Errorf("no report came, and its state is %+v", h)
	}
	a := r.work(env, nil)
	usage, why := 0.73, "the disk is full"
	r.must(a.ReportHealth(r.within(), worker.Health{Status: worker.Unhealthy, ContextUsage: &usage, Error: &why}))
	h := health()
	if h == nil || h.Status != string(worker.Unhealthy) || h.Detail != why || h.ContextUsage == nil || *h.ContextUsage != usage || h.State != "ready" || h.RunID != env["GC_RUN_ID"] || h.HeardAt.IsZero() {
		t.Errorf("it is known %+v", h)
	}
	a.cancel()
	r.eventually("its silence is reported", func() bool {
		h = health()
		return h != nil && h.Status == string(worker.Degraded) && h.State == "ready"
	})
	if calls := r.agents.Calls("Stop", "StopInstance", "Interrupt"); len(calls) > 0 {
		t.Errorf("it was ended or interrupted for its silence: %v", calls)
	}
}

// TestHooksNeedNoConnection: an agent with hooks is healthy without a stream. An agent whose extension
// had a stream is unhealthy without it.
func TestHooksNeedNoConnection(t *testing.T) {
	r := newEngineTest(t, nil)
	env := r.start("a", "one")
	c := clientOf(env)
	defer c.Close()
	r.must(c.Report(r.within(), worker.Ready, worker.Detail{Via: worker.ViaHook}))
	if h := r.health(env["GC_RUN_ID"]); h.Status != worker.Healthy || h.Error != nil {
		t.Errorf("without a stream it is %s: %v", h.Status, h.Error)
	}
	a := r.work(env, nil)
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{Via: worker.ViaHook}))
	a.cancel()
	r.eventually("its extension is missed", func() bool { return r.health(env["GC_RUN_ID"]).Status == worker.Degraded })
}
