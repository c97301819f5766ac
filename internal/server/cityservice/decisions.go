package cityservice

import (
	"context"
	"time"

	"gascity/internal/service/workers"
	"gascity/internal/telemetry"
	"gascity/worker"
)

// NewDecisions returns a histogram for the duration of decisions about tool calls. Decisions that a
// person makes are not included.
func NewDecisions() *telemetry.Histogram {
	return telemetry.NewHistogram(
		100*time.Microsecond, 250*time.Microsecond, 500*time.Microsecond, time.Millisecond, 2500*time.Microsecond, 5*time.Millisecond,
		10*time.Millisecond, 25*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, time.Second,
	)
}

// TimedWorkers is a workers.Engine that measures the duration of decisions about tool calls.
type TimedWorkers struct {
	*workers.Engine

	Decisions *telemetry.Histogram
}

// Authorize decides about a tool call and records how long the decision took, unless a person made
// it. It implements workerapi.Guard.
func (w TimedWorkers) Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error) {
	began := time.Now()
	d, err := w.Engine.Authorize(ctx, id, c)
	if d.Interaction == "" {
		w.Decisions.Observe(time.Since(began))
	}
	return d, err
}
