package tmux

import (
	"context"
	"time"

	"gascity/runtime"
)

// eventBuffer is how far a consumer of events may fall behind before it is told to look
// at everything.
const eventBuffer = 512

// feed hands events to one consumer and never waits for it. What it had no room for is
// lost, and then a resync follows as soon as there is room.
type feed struct {
	events chan runtime.Event
	lost   chan struct{} // full when something was lost since the last resync
}

// Watch keeps the contract of runtime.Watcher.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	f := &feed{events: make(chan runtime.Event, eventBuffer), lost: make(chan struct{}, 1)}
	f.send(runtime.Event{Kind: runtime.EventResync, Time: time.Now()})
	t := p.town
	t.mu.Lock()
	t.feeds[f] = struct{}{}
	t.mu.Unlock()
	t.touch() // which takes up a server that runs
	t.wg.Go(func() {
		defer close(f.events)
		defer t.unfeed(f)
		f.repair(ctx, t.ctx)
	})
	return f.events, nil
}

func (t *town) unfeed(f *feed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.feeds, f)
}

func (t *town) tell(e runtime.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellLocked(e)
}

func (t *town) tellLocked(e runtime.Event) {
	for f := range t.feeds {
		f.send(e)
	}
}

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
		select {
		case f.events <- runtime.Event{Kind: runtime.EventResync, Time: time.Now()}:
		case <-ctx.Done():
			return
		case <-life.Done():
			return
		}
	}
}
