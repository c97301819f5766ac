package broadcast

import (
	"context"
	"testing"

	"gascity/runtime"
)

// A consumer that falls behind gets a resync, one that keeps up loses nothing, and an
// end closes the channel.
func TestFeeds(t *testing.T) {
	var f Broadcaster
	ctx, cancel := context.WithCancel(t.Context())
	slow, quick := f.Subscribe(ctx, t.Context()), f.Subscribe(t.Context(), ctx)
	if e := <-quick; e.Kind != runtime.EventResync {
		t.Errorf("it begins with %s", e.Kind)
	}
	for range 2 * buffer {
		f.Publish(runtime.Event{Kind: runtime.EventOutput, Session: "s"})
		if e := <-quick; e.Kind != runtime.EventOutput {
			t.Fatalf("who keeps up gets %s", e.Kind)
		}
	}
	resyncs := 0
	for range buffer + 1 {
		if e := <-slow; e.Kind == runtime.EventResync {
			resyncs++
		}
	}
	if resyncs != 2 {
		t.Errorf("who is slow gets %d resyncs, want one at the beginning and one for what was lost", resyncs)
	}
	cancel()
	for _, events := range []<-chan runtime.Event{slow, quick} {
		for range events { // until it is closed
		}
	}
	f.Wait()
	f.Publish(runtime.Event{Kind: runtime.EventOutput})
}
