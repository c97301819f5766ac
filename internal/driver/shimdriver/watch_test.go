package shimdriver

import (
	"context"
	"sync"
	"testing"
	"time"

	"gascity/runtime"
)

// A consumer that fell behind gets a resync even when nothing more happens.
func TestLostEventsAreFollowedByAResync(t *testing.T) {
	f := newFeed()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.repair(ctx) })
	defer wg.Wait()
	defer cancel()
	for range eventBuffer + 10 {
		f.send(runtime.Event{Kind: runtime.EventOutput})
	}
	for range eventBuffer {
		if e := <-f.events; e.Kind == runtime.EventResync {
			return
		}
	}
	select {
	case e := <-f.events:
		if e.Kind != runtime.EventResync {
			t.Errorf("after the loss came %q, want a resync", e.Kind)
		}
	case <-time.After(10 * time.Second):
		t.Error("no resync")
	}
}
