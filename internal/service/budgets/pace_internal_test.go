package budgets

import (
	"testing"
	"time"
)

// TestOneSlowEvaluationDoesNotPostponeTheNext: an evaluation during which the machine was asleep for an hour does not stop the budgets
// for 20 hours.
func TestOneSlowEvaluationDoesNotPostponeTheNext(t *testing.T) {
	now := time.Now()
	for cost, want := range map[time.Duration]time.Duration{time.Millisecond: 20 * time.Millisecond, time.Hour: 10 * time.Second} {
		e := &Engine{evaluatedAt: now, cost: cost}
		if got := e.dueLocked().Sub(now); got != want {
			t.Errorf("after an evaluation of %v the next one is due in %v, want %v", cost, got, want)
		}
	}
}
