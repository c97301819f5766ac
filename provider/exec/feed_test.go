package exec

import (
	"testing"

	"gascity/internal/driver"
)

// The timer for the first line of a watch may fire while the watch ends.
func TestTimerOfAClosedFeed(t *testing.T) {
	f := &eventFeed{Feed: driver.NewFeed(), first: make(chan struct{})}
	f.begin()
	f.broken()
	f.close()
	if f.begin() {
		t.Error("a closed feed begins again")
	}
	if n := len(f.Events()); n != 1 {
		t.Errorf("it has %d events, want the resync", n)
	}
}
