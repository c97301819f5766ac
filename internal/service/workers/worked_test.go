package workers_test

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/worker"
)

func (r *engineTest) workedOn() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.worked)
}

// TestWorkerReportsConsumedPrompts checks that an acknowledgement, the end of a turn and telemetry
// each make the named prompt consumed, also if repeated. A prompt that was never sent to the run is
// ignored, and an accepted prompt cannot be refused later.
func TestWorkerReportsConsumedPrompts(t *testing.T) {
	r := newEngineTest(t, nil)
	refused := make(chan bool, 1)
	taken := func(a *agent, m worker.Message) {
		r.must(a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Submitted}))
		r.must(a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Refused}))
		refused <- true
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
		<-refused
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
		r.must(say("of another run"))
	}
	if got := r.workedOn()[before:]; len(got) > 0 {
		t.Errorf("prompts that the run was never sent count as worked on: %v", got)
	}
}

// TestExitReportedByAWorker checks that the worker's report gives the exit of an agent if the
// provider cannot. Only the provider reports that the agent has exited. A later start cancels the
// report.
func TestExitReportedByAWorker(t *testing.T) {
	for event, want := range map[worker.Transition]string{worker.Stopped: "exited with code 3 (out of memory)", worker.Crashed: "exited with code 3 (out of memory)"} {
		r := newEngineTest(t, nil)
		a := r.work(r.start("a", "one"), nil)
		sense := func() runtime.Reading {
			reading, err := runtime.Sense(r.within(), r.now().provider, "a")
			r.must(err)
			return reading
		}
		code := 3
		r.must(a.Report(r.within(), event, worker.Detail{ExitCode: &code, Reason: "out of memory"}))
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
		reading := sense()
		if reading.Ended == nil || reading.Ended.String() != want || reading.Ended.Crashed != (event == worker.Crashed) {
			t.Errorf("%s is read as %+v", event, reading.Ended)
		}
		seen, err := runtime.Observe(r.within(), r.now().provider, "a")
		if err != nil || seen.Agent == runtime.Dead || seen.Exit != nil {
			t.Errorf("a word has ended the process: %+v, %v", seen, err)
		}
		r.must(a.Report(r.within(), worker.Started, worker.Detail{}))
		r.must(a.Report(r.within(), worker.Errored, worker.Detail{}))
		if reading = sense(); reading.Ended != nil {
			t.Errorf("after another start it is read as %+v", reading.Ended)
		}
	}
}
