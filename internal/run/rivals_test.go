package run_test

import (
	"testing"
	"time"

	"gascity/internal/run"
)

// TestRivals: two workers that take the stream from each other are noticed once, and for a
// minute; one that connects anew from time to time is none.
func TestRivals(t *testing.T) {
	var r run.Rivals
	now := time.Unix(1e9, 0)
	for range 100 {
		now = now.Add(30 * time.Second)
		if r.Taken(now) || r.Known(now) {
			t.Fatal("a worker that connects anew twice a minute is taken for two")
		}
	}
	now = now.Add(time.Hour)
	told := 0
	for range 10 {
		now = now.Add(time.Second)
		if r.Taken(now) {
			told++
		}
	}
	if told != 1 || !r.Known(now) {
		t.Errorf("rivals were told of %d times, known %v", told, r.Known(now))
	}
	if r.Known(now.Add(2*time.Minute)) || r.Known(now.Add(-time.Hour)) {
		t.Error("they are known for ever, or by a clock that was set back")
	}
}
