package router

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"gascity/internal/retry"
	"gascity/runtime"
)

// firstPause is the pause before the first attempt to watch a backend again.
const firstPause = 100 * time.Millisecond

// Watch implements runtime.Watcher over all backends. If the events of one backend end, or a
// backend has none, the events of the others continue. The router tries to watch that backend
// again, and until then sends a resync event at intervals, so that the receiver observes again. If
// no backend can be watched at the call, Watch returns an error.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	feeds := make([]<-chan runtime.Event, len(p.backends))
	var errs []error
	watched, eventless := 0, 0
	for i, b := range p.backends {
		feed, err := p.watch(ctx, b)
		feeds[i] = feed
		switch {
		case err == nil:
			watched++
		case errors.Is(err, errors.ErrUnsupported):
			eventless++
		}
		errs = append(errs, err)
	}
	if watched == 0 {
		if eventless < len(p.backends) {
			// The remaining backends may have events later.
			errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errors.ErrUnsupported) })
		}
		return nil, &runtime.Error{Op: "watch", Err: errors.Join(errs...)}
	}
	events := make(chan runtime.Event)
	var followers sync.WaitGroup
	for i, b := range p.backends {
		followers.Go(func() { p.follow(ctx, b, feeds[i], events) })
	}
	go func() {
		followers.Wait()
		close(events)
	}()
	return events, nil
}

// watch returns the events of one backend. If the backend could not be opened, the error says why.
func (p *Provider) watch(ctx context.Context, b *Backend) (<-chan runtime.Event, error) {
	if b.Provider == nil {
		return nil, b.unavailable(b.Err)
	}
	feed, err := runtime.Watch(ctx, b.Provider)
	return feed, b.wrap(err)
}

// follow forwards the events of one backend until ctx ends. feed is nil if the backend could not be
// watched.
func (p *Provider) follow(ctx context.Context, b *Backend, feed <-chan runtime.Event, to chan<- runtime.Event) {
	delay := retry.New(firstPause, p.cfg.Pause)
	for pause := delay.Next(); ; {
		if feed != nil {
			delay.Reset()
			pause = delay.Next()
			for ev := range feed {
				if !send(ctx, to, ev) {
					return
				}
			}
		}
		if !send(ctx, to, runtime.Event{Kind: runtime.EventResync, Time: time.Now()}) || !retry.Sleep(ctx, pause) {
			return
		}
		pause = delay.Next()
		var err error
		feed, err = p.watch(ctx, b)
		if errors.Is(err, errors.ErrUnsupported) {
			pause = p.cfg.Pause
		}
	}
}

// send sends an event to a channel. It returns false if ctx ended before the event was received.
func send(ctx context.Context, to chan<- runtime.Event, ev runtime.Event) bool {
	select {
	case to <- ev:
		return true
	case <-ctx.Done():
		return false
	}
}
