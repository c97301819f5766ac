package shim

import (
	"sync"
	"time"
)

// hub sends events to subscribers. If a subscriber reads too slowly, its channel is closed, and it must read the state again.
type hub struct {
	mu         sync.Mutex
	subs       map[chan Event]struct{}
	closed     bool
	lastOutput time.Time
	timer      *time.Timer // sends the delayed output event
	unseen     bool        // there was output without a subscriber
}

// subscribe returns a channel of future events; it is already closed if the hub is closed. If there was output without a
// subscriber, the channel begins with an output event.
func (b *hub) subscribe() chan Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := make(chan Event, 64)
	if b.closed {
		close(ch)
		return ch
	}
	if b.subs == nil {
		b.subs = map[chan Event]struct{}{}
	}
	b.subs[ch] = struct{}{}
	if b.unseen {
		b.unseen, b.lastOutput = false, time.Now()
		ch <- Event{Kind: EventOutput, Time: b.lastOutput}
	}
	return ch
}

// unsubscribe closes the channel if it is still subscribed.
func (b *hub) unsubscribe(ch chan Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.subs[ch]; ok {
		delete(b.subs, ch)
		close(ch)
	}
}

// publish sends the event to all subscribers and reports whether at least one received it.
func (b *hub) publish(e Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.publishLocked(e)
}

// publishLocked is publish for a caller that holds mu.
func (b *hub) publishLocked(e Event) bool {
	seen := false
	for ch := range b.subs {
		select {
		case ch <- e:
			seen = true
		default:
			delete(b.subs, ch)
			close(ch)
		}
	}
	return seen
}

// output publishes an output event now, or outputEventGap after the previous output event.
func (b *hub) output(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.subs) == 0 {
		b.unseen = true
		return
	}
	if b.timer != nil {
		return
	}
	wait := outputEventGap - now.Sub(b.lastOutput)
	if wait <= 0 {
		b.lastOutput = now
		b.publishLocked(Event{Kind: EventOutput, Time: now})
		return
	}
	b.timer = time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.timer = nil
		b.lastOutput = time.Now()
		b.unseen = !b.publishLocked(Event{Kind: EventOutput, Time: b.lastOutput})
	})
}

// close closes all channels.
func (b *hub) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for ch := range b.subs {
		delete(b.subs, ch)
		close(ch)
	}
	if b.timer != nil {
		b.timer.Stop()
	}
}
