// Package broadcast sends the events of a driver to all subscribers. One that is too slow gets a request
// to observe everything again instead of the events that it missed.
package broadcast

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
)

// buffer is how far a consumer may fall behind before it gets a resync: an event to
// look at everything.
const buffer = 512

// Broadcaster are all who watch. It is safe for concurrent use; the zero value has none.
type Broadcaster struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	wg          sync.WaitGroup
}

// subscriber is one consumer. What it had no room for is lost, and then a resync follows as soon
// as there is room, whether or not anything else happens.
type subscriber struct {
	events chan runtime.Event
	lost   chan struct{} // full when something was lost since the last resync
}

// Subscribe returns a channel of all events from now on, begun by a resync. It is closed when
// ctx or life ends.
func (f *Broadcaster) Subscribe(ctx, life context.Context) <-chan runtime.Event {
	one := &subscriber{events: make(chan runtime.Event, buffer), lost: make(chan struct{}, 1)}
	one.send(resync())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		f.subscribers = map[*subscriber]struct{}{}
	}
	f.subscribers[one] = struct{}{}
	f.wg.Go(func() {
		one.sendResyncs(ctx, life)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subscribers, one)
		close(one.events)
	})
	return one.events
}

// Publish passes an event to all. It never waits.
func (f *Broadcaster) Publish(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.subscribers {
		one.send(e)
	}
}

// Wait returns when all channels are closed.
func (f *Broadcaster) Wait() { f.wg.Wait() }

func resync() runtime.Event { return runtime.Event{Kind: runtime.EventResync, Time: time.Now()} }

func (f *subscriber) send(e runtime.Event) {
	select {
	case f.events <- e:
	default:
		select {
		case f.lost <- struct{}{}:
		default:
		}
	}
}

// sendResyncs sends the resyncs until a context ends.
func (f *subscriber) sendResyncs(ctx, life context.Context) {
	for {
		select {
		case <-f.lost:
		case <-ctx.Done():
			return
		case <-life.Done():
			return
		}
		select { // what is lost from here on asks for another one
		case f.events <- resync():
		case <-ctx.Done():
			return
		case <-life.Done():
			return
		}
	}
}
