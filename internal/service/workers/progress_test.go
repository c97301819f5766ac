package workers_test

import (
	"testing"

	"gascity/runtime"
	"gascity/worker"
)

// progress returns the progress of agent a.
func (r *engineTest) progress() runtime.Progress {
	r.Helper()
	reading, err := runtime.Sense(r.Context(), r.now().provider, "a")
	r.must(err)
	return reading.Progress
}

// TestReportsOfAWorkerAreProgress: each report is a sign of progress. An allowed tool runs until the
// end of the tool or of the turn is reported. After a change of the controller a tool may run until the first
// report.
func TestReportsOfAWorkerAreProgress(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	r.must(a.Report(r.within(), worker.Busy, worker.Detail{}))
	began := r.progress()
	if began.At.IsZero() || began.Tool != "" {
		t.Fatalf("at the start of a turn the progress is %+v", began)
	}
	for _, id := range []string{"call-1", "call-2"} {
		if d, err := a.Authorize(r.within(), worker.Call{ID: id, Tool: "Bash"}); err != nil || !d.Allowed {
			t.Fatalf("the call is %+v, %v", d, err)
		}
	}
	if p := r.progress(); p.Tool != "Bash" || !p.At.After(began.At) {
		t.Errorf("while tools run the progress is %+v", p)
	}
	ended := func(id string) {
		_, err := a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, ToolsCalled: []worker.ToolCall{{Name: "Bash", CallID: id}}})
		r.must(err)
	}
	ended("call-1")
	if p := r.progress(); p.Tool != "Bash" {
		t.Errorf("one of two tools has ended, and the progress is %+v", p)
	}
	r.restart()
	r.eventually("a tool may run after a restart", func() bool { return r.progress().Tool != "" })
	ended("call-2")
	if p := r.progress(); p.Tool != "" || p.Sign == "" {
		t.Errorf("after the end of all tools the progress is %+v", p)
	}
	if _, err := a.Authorize(r.within(), worker.Call{ID: "call-3", Tool: "Edit"}); err != nil {
		t.Fatal(err)
	}
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{Reason: worker.TurnDone}))
	if p := r.progress(); p.Tool != "" {
		t.Errorf("after the turn the progress is %+v", p)
	}
}
