package exchange_test

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/session"
	"gascity/runtime"
	"gascity/worker"
)

func (r *rig) workedOn() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.worked)
}

// TestAWorkerSaysWhatItHasWorkedOn: an acknowledgement, the end of a turn and its
// telemetry each consume the prompt that they name, repeated or not; what was never sent
// to the run is nobody's, and a prompt that was taken is not refused any more.
func TestAWorkerSaysWhatItHasWorkedOn(t *testing.T) {
	r := newRig(t, nil)
	taken := func(a *agent, m worker.Message) {
		r.must(a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}))
		r.must(a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Refused}))
	}
	a := r.work(r.start("a", "one"), taken)
	of := func(id string) string { return id + " " + session.PublicInstance("one") }
	ways := map[string]func(id string) error{
		"acknowledged": func(id string) error { return a.Ack(r.within(), worker.Ack{ID: id, State: worker.Consumed}) },
		"idle":         func(id string) error { return a.Report(r.within(), worker.Idle, worker.Detail{PromptID: id}) },
		"turn": func(id string) error {
			_, err := a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now(), PromptID: id})
			return err
		},
	}
	for id, say := range ways {
		if out := r.deliver(delivery(id, "one", id)); out.State != runtime.OutcomeSubmitted || out.Evidence != "worker" {
			t.Errorf("%s: %+v", id, out)
		}
		r.must(a.Report(r.within(), worker.Busy, worker.Detail{PromptID: id}))
		if slices.Contains(r.workedOn(), of(id)) {
			t.Errorf("%s counts as worked on before the turn has ended", id)
		}
		for range 2 {
			r.must(say(id))
		}
		if !slices.Contains(r.workedOn(), of(id)) {
			t.Errorf("%s: the city knows of %v", id, r.workedOn())
		}
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
	}
	before := len(r.workedOn())
	for _, say := range ways {
		r.must(say("somebody else's"))
	}
	if got := r.workedOn()[before:]; len(got) > 0 {
		t.Errorf("prompts that the run was never sent count as worked on: %v", got)
	}
}
