package cityservice

import (
	"context"
	"time"

	"gascity/internal/service/workers"
	"gascity/internal/telemetry/metric"
	"gascity/worker"
)

// NewDecisions returns the histogram of how long decisions about tools take, without those that a
// person is asked about.
func NewDecisions() *metric.Histogram {
	return metric.NewHistogram(
		100*time.Microsecond, 250*time.Microsecond, 500*time.Microsecond, time.Millisecond, 2500*time.Microsecond, 5*time.Millisecond,
		10*time.Millisecond, 25*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, time.Second,
	)
}

// TimedWorkers is the engine of a city's workers. It measures how long decisions about tools take.
type TimedWorkers struct {
	*workers.Engine

	Decisions *metric.Histogram
}

// Authorize implements workerapi.Guard.
func (w TimedWorkers) Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error) {
	began := time.Now()
	d, err := w.Engine.Authorize(ctx, id, c)
	if d.Interaction == "" {
		w.Decisions.Observe(time.Since(began))
	}
	return d, err
}
