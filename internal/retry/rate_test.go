package retry_test

import (
	"testing"
	"time"

	"gascity/internal/retry"
)

// A bucket allows the burst at once, then one event for each interval, and no event more if the clock is set back.
func TestBucketAllowsTheRate(t *testing.T) {
	var b retry.Bucket
	now, allowed := time.Unix(1000, 0), 0
	for _, passed := range []time.Duration{0, 0, 0, 0, 500 * time.Millisecond, 500 * time.Millisecond, 0, -time.Hour, time.Second, 100 * time.Second, 0, 0, 0} {
		now = now.Add(passed)
		if b.Allow(retry.Rate{Burst: 3, Every: time.Second}, now) {
			allowed++
		}
	}
	if want := 3 + 1 + 1 + 3; allowed != want {
		t.Errorf("%d events were allowed, want %d", allowed, want)
	}
}
