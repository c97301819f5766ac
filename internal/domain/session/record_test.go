package session

import (
	"testing"
	"time"
)

// TestOnlyFailuresWithinTheWindowCount checks that failures that are older than the window are
// removed, while the number of failures in a row continues.
func TestOnlyFailuresWithinTheWindowCount(t *testing.T) {
	var r Record
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 5 {
		r.AddFailure(start.Add(time.Duration(i)*20*time.Minute), time.Hour, "exited with code 1")
	}
	if len(r.Failures) != 3 || r.Streak != 5 {
		t.Errorf("after 5 failures in 80 minutes the hour holds %d and the streak is %d, want 3 and 5", len(r.Failures), r.Streak)
	}
	r.ResetFailures()
	if len(r.Failures) != 0 || r.Streak != 0 || r.Fault != "" {
		t.Errorf("a forgiven record still holds %+v", r)
	}
}
