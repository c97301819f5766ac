package exchange_test

import (
	"testing"
	"time"

	"gascity/internal/exchange"
	"gascity/internal/exchange/pressure"
	"gascity/internal/session"
	"gascity/runtime"
	"gascity/worker"
)

// full tells that so much of the context is used.
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
			rules := pressure.Rules{WarnAt: 0.7, CompactAt: 0.9, Within: 30 * time.Second}
			if !answers {
				rules.Within = time.Second
			}
			r := newRig(t, func(o *exchange.Options) { o.Pressure = func(string) pressure.Rules { return rules } })
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
			r.eventually("the worker is told to compact", func() bool { return len(a.had(worker.CompactMessage)) == 1 })
			if e := r.doing(); e.Activity != runtime.ActivityBusy {
				t.Errorf("while it compacts it is seen as %+v", e)
			}
			if h := r.now().engine.Told("a", session.PublicInstance("one")); h == nil || h.State != "compacting" {
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
				t.Errorf("it was told to compact %d times", n)
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
