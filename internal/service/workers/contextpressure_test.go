package workers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/service/workers"
	"gascity/internal/service/workers/compaction"
	"gascity/runtime"
	"gascity/worker"
)

// full reports that so much of the context is used.
func (a *agent) full(usage float64) {
	a.rig.Helper()
	_, err := a.Telemetry(a.rig.within(), worker.TelemetryEvent{Type: worker.ContextPressure, Timestamp: time.Now(), ContextUsage: &usage})
	a.rig.must(err)
}

func (r *rig) doing() runtime.Evidence {
	r.Helper()
	reading, err := runtime.Sense(r.within(), r.now().provider, "a")
	r.must(err)
	for _, e := range reading.Evidence {
		if e.Source == runtime.SourceWorker {
			return e
		}
	}
	return runtime.Evidence{}
}

// TestAFullContextIsCompacted: between two turns, once, under a lock that keeps prompts
// away and shows as work, until the worker says that it is done, or its time is over.
func TestAFullContextIsCompacted(t *testing.T) {
	for name, answers := range map[string]bool{"done": true, "no answer": false} {
		t.Run(name, func(t *testing.T) {
			rules := compaction.Rules{WarnAt: 0.7, CompactAt: 0.9, Within: 30 * time.Second}
			if !answers {
				rules.Within = time.Second
			}
			r := newRig(t, func(o *workers.Options) { o.Pressure = func(string) compaction.Rules { return rules } })
			act := func(a *agent, m worker.Message) {
				if m.Kind == worker.PromptMessage {
					_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Consumed}) // ends with the test
				}
			}
			a := r.work(r.start("a", "one"), act, worker.OfferCompact)
			r.must(a.Report(r.within(), worker.Busy, worker.Detail{}))
			a.full(0.95)
			if n := len(a.had(worker.CompactMessage)); n > 0 {
				t.Error("it is to compact its context in its turn")
			}
			r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
			r.eventually("the worker receives a request to compact", func() bool { return len(a.had(worker.CompactMessage)) == 1 })
			if e := r.doing(); e.Activity != runtime.ActivityBusy {
				t.Errorf("while it compacts it is seen as %+v", e)
			}
			if h := r.now().engine.CachedHealth("a", session.PublicInstance("one")); h == nil || h.State != "compacting" {
				t.Errorf("while it compacts it is known %+v", h)
			}
			if answers {
				out, err := runtime.Deliver(r.within(), r.now().provider, "a", delivery("early", "one", "now"))
				if err != nil || out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedBusy {
					t.Errorf("while it compacts a prompt is %+v, %v", out, err)
				}
				r.must(a.Ack(r.within(), worker.Ack{ID: a.had(worker.CompactMessage)[0].ID, State: worker.Consumed}))
			}
			if out := r.deliver(delivery("p", "one", "later")); out.State != runtime.OutcomeSubmitted {
				t.Errorf("after it a prompt is %+v", out)
			}
			a.full(0.95)
			r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
			if n := len(a.had(worker.CompactMessage)); n != 1 {
				t.Errorf("it received %d requests to compact", n)
			}
			if e := r.doing(); e.Activity != runtime.ActivityIdle {
				t.Errorf("after it, it is seen as %+v", e)
			}
			if texts := a.texts(); texts["later"] != 1 {
				t.Errorf("it got %v", texts)
			}
		})
	}
}

// TestTheLockOutlivesItsController: a controller that is killed while a context is
// compacted, or a conversation handed over, is followed by one that still keeps prompts
// away, asks once, and sees the end of it.
func TestTheLockOutlivesItsController(t *testing.T) {
	r := newRig(t, func(o *workers.Options) {
		o.Pressure = func(string) compaction.Rules { return compaction.Rules{CompactAt: 0.9, Within: time.Minute} }
	})
	a := r.work(r.start("a", "one"), func(*agent, worker.Message) {}, worker.OfferCompact)
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
	a.full(0.95)
	r.eventually("the worker receives a request to compact", func() bool { return len(a.had(worker.CompactMessage)) == 1 })
	for range 3 {
		r.restart()
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
		r.eventually("it is seen to compact", func() bool { return r.doing().Activity == runtime.ActivityBusy })
		out, err := runtime.Deliver(r.within(), r.now().provider, "a", delivery("early", "one", "now"))
		if err == nil && out.State != runtime.OutcomeRefused {
			t.Errorf("while it compacts a prompt is %+v, %v", out, err)
		}
	}
	r.must(a.Ack(r.within(), worker.Ack{ID: a.had(worker.CompactMessage)[0].ID, State: worker.Consumed}))
	r.eventually("it is idle", func() bool { return r.doing().Activity == runtime.ActivityIdle })
	if n := len(a.had(worker.CompactMessage)); n != 1 {
		t.Errorf("it received %d requests to compact", n)
	}
}

// TestAFullConversationIsHandedOver: between two turns, and again by the next controller
// if the first was killed before the city knew of it; meanwhile it gets no prompts.
func TestAFullConversationIsHandedOver(t *testing.T) {
	var mu sync.Mutex
	asked, fails := 0, true
	r := newRig(t, func(o *workers.Options) {
		o.Pressure = func(string) compaction.Rules { return compaction.Rules{CompactAt: 0.8, HandoffAt: 0.9} }
		o.Handoff = func(_ context.Context, name, instance string) error {
			mu.Lock()
			defer mu.Unlock()
			if asked++; name != "a" || instance != session.PublicInstance("one") || fails {
				return errors.New("not now")
			}
			return nil
		}
	})
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
	a := r.work(r.start("a", "one"), nil)
	r.must(a.Report(r.within(), worker.Busy, worker.Detail{}))
	a.full(0.95)
	if count() > 0 {
		t.Error("it is handed over in its turn")
	}
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
	r.eventually("the city is asked", func() bool { return count() == 1 })
	mu.Lock()
	fails = false
	mu.Unlock()
	r.restart()
	r.eventually("the next controller asks, too", func() bool { return count() == 2 })
	out, err := runtime.Deliver(r.within(), r.now().provider, "a", delivery("early", "one", "now"))
	if err == nil && out.State != runtime.OutcomeRefused {
		t.Errorf("while it is handed over a prompt is %+v, %v", out, err)
	}
	if e := r.doing(); e.Activity == runtime.ActivityBusy {
		t.Errorf("it is seen at work, so that nothing would restart it: %+v", e)
	}
}
