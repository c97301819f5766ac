package driver

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
)

// feedBuffer is the number of unread events that a consumer may have before it loses events and gets a resync.
const feedBuffer = 512

// Feed sends events to one consumer without blocking. Events for which its channel has no space are lost. The consumer then gets
// a resync as soon as there is space.
type Feed struct {
	events chan runtime.Event
	lost   chan struct{} // full if an event was lost since the last resync
}

// NewFeed returns a feed without events.
func NewFeed() *Feed { return &Feed{make(chan runtime.Event, feedBuffer), make(chan struct{}, 1)} }

// Events returns the channel of the consumer. Close closes it.
func (f *Feed) Events() <-chan runtime.Event { return f.events }

// Send sends an event without blocking. If the channel is full, it records the loss.
func (f *Feed) Send(e runtime.Event) {
	select {
	case f.events <- e:
	default:
		select {
		case f.lost <- struct{}{}:
		default:
		}
	}
}

// SendResync sends a resync without blocking.
func (f *Feed) SendResync() { f.Send(resyncEvent()) }

// Repair sends a resync after each loss until ctx ends.
func (f *Feed) Repair(ctx context.Context) {
	for {
		select {
		case <-f.lost:
		case <-ctx.Done():
			return
		}
		select { // an event that is lost from here on causes another resync
		case f.events <- resyncEvent():
		case <-ctx.Done():
			return
		}
	}
}

// Close closes the channel. Repair must have returned, and nothing may be sent afterwards.
func (f *Feed) Close() { close(f.events) }

// Broadcaster sends events to subscribers. It is safe for concurrent use. The zero value has no subscribers.
type Broadcaster struct {
	mu          sync.Mutex
	subscribers map[*Feed]struct{}
	wg          sync.WaitGroup
}

// Subscribe returns a channel that gets all events that are published from now on. The first event is a resync, which
// means: read everything again. The channel is closed when ctx ends (the subscriber stops) or life ends (the publisher
// stops).
func (b *Broadcaster) Subscribe(ctx, life context.Context) <-chan runtime.Event {
	sub := NewFeed()
	sub.SendResync()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[*Feed]struct{}{}
	}
	b.subscribers[sub] = struct{}{}
	b.wg.Go(func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		sub.Repair(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers, sub)
		sub.Close()
	})
	return sub.events
}

// Publish sends an event to all subscribers. It never blocks.
func (b *Broadcaster) Publish(e runtime.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for sub := range b.subscribers {
		sub.Send(e)
	}
}

// Wait returns when the channels of all subscribers are closed.
func (b *Broadcaster) Wait() { b.wg.Wait() }

func resyncEvent() runtime.Event { return runtime.Event{Kind: runtime.EventResync, Time: time.Now()} }
