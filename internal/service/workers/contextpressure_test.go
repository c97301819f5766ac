package workers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/worker"
)

// full reports the used share of the context.
func (a *agent) full(usage float64) {
	a.test.Helper()
	_, err := a.Telemetry(a.test.within(), worker.TelemetryEvent{Type: worker.ContextPressure, Timestamp: time.Now(), ContextUsage: &usage})
	a.test.must(err)
}

func (r *engineTest) doing() runtime.Evidence {
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

// TestFullContextIsCompacted: it is compacted once, between two turns. A lock holds prompts and counts as
// busy until the worker reports the end, or the limit passes.
func TestFullContextIsCompacted(t *testing.T) {
	for name, answers := range map[string]bool{"done": true, "no answer": false} {
		t.Run(name, func(t *testing.T) {
			rules := plan.ContextPolicy{WarnAt: 0.7, CompactAt: 0.9, Within: 30 * time.Second}
			if !answers {
				rules.Within = time.Second
			}
			r := newEngineTest(t, func(o *workers.Options) { o.Pressure = func(string) plan.ContextPolicy { return rules } })
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

// TestCompactionLockIsKeptAcrossControllers: a controller is killed during a compaction or a replacement of
// the conversation. The next one still holds prompts, requests it once, and handles its end.
func TestCompactionLockIsKeptAcrossControllers(t *testing.T) {
	r := newEngineTest(t, func(o *workers.Options) {
		o.Pressure = func(string) plan.ContextPolicy {
			return plan.ContextPolicy{CompactAt: 0.9, Within: time.Minute}
		}
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

// TestFullConversationIsReplaced: it is replaced between two turns. The next controller repeats that if the
// first was killed before it was saved. Prompts are held until then.
func TestFullConversationIsReplaced(t *testing.T) {
	var mu sync.Mutex
	asked, fails := 0, true
	r := newEngineTest(t, func(o *workers.Options) {
		o.Pressure = func(string) plan.ContextPolicy { return plan.ContextPolicy{CompactAt: 0.8, HandoffAt: 0.9} }
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
