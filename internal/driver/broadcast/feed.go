// Package broadcast hands the events of a driver to those who watch it.
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

// Feeds are all who watch. It is safe for concurrent use; the zero value has none.
type Feeds struct {
	mu  sync.Mutex
	all map[*feed]struct{}
	wg  sync.WaitGroup
}

// feed is one consumer. What it had no room for is lost, and then a resync follows as soon
// as there is room, whether or not anything else happens.
type feed struct {
	events chan runtime.Event
	lost   chan struct{} // full when something was lost since the last resync
}

// Add returns a channel of all events from now on, begun by a resync. It is closed when
// ctx or life ends.
func (f *Feeds) Add(ctx, life context.Context) <-chan runtime.Event {
	one := &feed{events: make(chan runtime.Event, buffer), lost: make(chan struct{}, 1)}
	one.send(resync())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[*feed]struct{}{}
	}
	f.all[one] = struct{}{}
	f.wg.Go(func() {
		one.repair(ctx, life)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.all, one)
		close(one.events)
	})
	return one.events
}

// Tell hands an event to all. It never waits.
func (f *Feeds) Tell(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.all {
		one.send(e)
	}
}

// Wait returns when all channels are closed.
func (f *Feeds) Wait() { f.wg.Wait() }

func resync() runtime.Event { return runtime.Event{Kind: runtime.EventResync, Time: time.Now()} }

func (f *feed) send(e runtime.Event) {
	select {
	case f.events <- e:
	default:
		select {
		case f.lost <- struct{}{}:
		default:
		}
	}
}

// repair sends the resyncs until a context ends.
func (f *feed) repair(ctx, life context.Context) {
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
