package driver

import (
	"context"
	"sync"
	"testing"
	"time"

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
	for range 2 * feedBuffer {
		f.Publish(runtime.Event{Kind: runtime.EventOutput, Session: "s"})
		if e := <-quick; e.Kind != runtime.EventOutput {
			t.Fatalf("who keeps up gets %s", e.Kind)
		}
	}
	resyncs := 0
	for range feedBuffer + 1 {
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

// A consumer that fell behind gets a resync even when nothing more happens.
func TestLostEventsAreFollowedByAResync(t *testing.T) {
	f := NewFeed()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.Repair(ctx) })
	defer wg.Wait()
	defer cancel()
	for range feedBuffer + 10 {
		f.Send(runtime.Event{Kind: runtime.EventOutput})
	}
	for range feedBuffer {
		if e := <-f.Events(); e.Kind == runtime.EventResync {
			return
		}
	}
	select {
	case e := <-f.Events():
		if e.Kind != runtime.EventResync {
			t.Errorf("after the loss came %q, want a resync", e.Kind)
		}
	case <-time.After(10 * time.Second):
		t.Error("no resync")
	}
}
