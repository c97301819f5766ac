// Package broadcast sends the events of a driver to all subscribers. A subscriber that reads too slowly loses events and then
// gets a resync event: it must observe all sessions again.
package broadcast

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
)

// buffer is the number of unread events that a subscriber may have before it loses events and gets a resync.
const buffer = 512

// Broadcaster sends events to subscribers. It is safe for concurrent use. The zero value has no subscribers.
type Broadcaster struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	wg          sync.WaitGroup
}

// subscriber is one consumer of events. Events for which its channel has no space are lost. It then gets a resync as soon as
// there is space.
type subscriber struct {
	events chan runtime.Event
	lost   chan struct{} // full if an event was lost since the last resync
}

// Subscribe returns a channel of all events from now on. The first event is a resync. The channel is closed when ctx or life
// ends.
func (f *Broadcaster) Subscribe(ctx, life context.Context) <-chan runtime.Event {
	sub := &subscriber{events: make(chan runtime.Event, buffer), lost: make(chan struct{}, 1)}
	sub.send(resync())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		f.subscribers = map[*subscriber]struct{}{}
	}
	f.subscribers[sub] = struct{}{}
	f.wg.Go(func() {
		sub.sendResyncs(ctx, life)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subscribers, sub)
		close(sub.events)
	})
	return sub.events
}

// Publish sends an event to all subscribers. It never blocks.
func (f *Broadcaster) Publish(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub := range f.subscribers {
		sub.send(e)
	}
}

// Wait returns when the channels of all subscribers are closed.
func (f *Broadcaster) Wait() { f.wg.Wait() }

func resync() runtime.Event { return runtime.Event{Kind: runtime.EventResync, Time: time.Now()} }

// send sends an event without blocking. If the channel is full, it records the loss.
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

// sendResyncs sends a resync after each loss until a context ends.
func (f *subscriber) sendResyncs(ctx, life context.Context) {
	for {
		select {
		case <-f.lost:
		case <-ctx.Done():
			return
		case <-life.Done():
			return
		}
		select { // an event that is lost from here on causes another resync
		case f.events <- resync():
		case <-ctx.Done():
			return
		case <-life.Done():
			return
		}
	}
}
