package workers

import (
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
	"gascity/worker"
)

// failure is a failure of the model or the runtime that a worker reported.
type failure struct {
	text  string
	retry *worker.Retry // nil: the request is not repeated
	at    time.Time
}

// retryHolds is how long a report of a repeated request counts after its next try, or after the
// report if that names no next try. Workers do not report that a repeated request succeeded.
const retryHolds = time.Minute

// addObstacleLocked adds to the evidence e the failure that the worker reported, if that still
// keeps the agent from making progress. The caller holds mu.
func (a *liveRun) addObstacleLocked(e *runtime.Evidence, r *runtime.Reading) {
	f := &a.failure
	switch {
	case e.Activity == runtime.ActivityBusy && f.retry != nil:
		until := f.at.Add(retryHolds)
		o := runtime.Obstacle{Kind: agentcli.RetryKind(f.text), Detail: f.text, Attempt: f.retry.Attempt, Of: f.retry.Of}
		if f.retry.Next != nil {
			o.NextTry = *f.retry.Next
			until = o.NextTry.Add(retryHolds)
		}
		if !r.At.Before(until) {
			return
		}
		e.Obstacle = o
		if r.Again.IsZero() || until.Before(r.Again) {
			r.Again = until
		}
	case e.Activity == runtime.ActivityIdle && a.life.Last().Metadata.Reason == worker.TurnFailed:
		e.Obstacle = runtime.Obstacle{Kind: agentcli.ErrorKind(f.text), Detail: f.text}
	}
}
