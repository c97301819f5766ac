package workers_test

import (
	"testing"

	"gascity/runtime"
	"gascity/worker"
)

// TestReportedFailuresAreObstacles: a repeated request is an obstacle during its turn, and a failure that
// ended the turn until the next turn. The text determines the kind.
func TestReportedFailuresAreObstacles(t *testing.T) {
	r := newEngineTest(t, nil)
	c := clientOf(r.start("a", "one"))
	r.must(c.Report(r.within(), worker.Started, worker.Detail{}))
	fails := func(text string, retry *worker.Retry) {
		t.Helper()
		if _, err := c.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.Failure, Message: text, Retry: retry}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want runtime.Obstacle) {
		t.Helper()
		if got := r.doing().Obstacle; got != want {
			t.Errorf("%s: the obstacle is %+v, want %+v", what, got, want)
		}
	}
	r.must(c.Report(r.within(), worker.Busy, worker.Detail{}))
	fails("unexpected status 529: Overloaded", &worker.Retry{Attempt: 2, Of: 5})
	want("a request is repeated", runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "unexpected status 529: Overloaded", Attempt: 2, Of: 5})
	fails("error sending request", &worker.Retry{Attempt: 3, Of: 5})
	want("the network is gone", runtime.Obstacle{Kind: runtime.ObstacleNoNetwork, Detail: "error sending request", Attempt: 3, Of: 5})
	fails("unexpected status 403 Forbidden", nil)
	r.must(c.Report(r.within(), worker.Idle, worker.Detail{Reason: worker.TurnFailed}))
	want("the turn failed", runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "unexpected status 403 Forbidden"})
	r.must(c.Report(r.within(), worker.Busy, worker.Detail{}))
	want("the next turn goes on", runtime.Obstacle{})
	r.must(c.Report(r.within(), worker.Idle, worker.Detail{Reason: worker.TurnDone}))
	want("it worked", runtime.Obstacle{})
}
