package fake

import (
	"context"
	"slices"
	"time"

	"gascity/runtime"
)

// watchBacklog is the maximum number of events that wait for a slow receiver.
const watchBacklog = 64

// subscription is one watch. The world's lock guards its backlog.
type subscription struct {
	backlog []runtime.Event
}

// publishLocked sends the event to every watch. A full backlog is replaced by one resync event.
func (w *world) publishLocked(e runtime.Event) {
	e.Time = time.Now()
	for _, watch := range w.watches {
		if len(watch.backlog) >= watchBacklog {
			watch.backlog = []runtime.Event{{Kind: runtime.EventResync, Time: e.Time}}
			continue
		}
		watch.backlog = append(watch.backlog, e)
	}
	w.bumpLocked()
}

// Watch implements runtime.Watcher.
func (f *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if err := f.called("Watch", ""); err != nil {
		return nil, err
	}
	watch := &subscription{backlog: []runtime.Event{{Kind: runtime.EventResync, Time: time.Now()}}}
	f.world.mu.Lock()
	f.world.watches = append(f.world.watches, watch)
	f.world.mu.Unlock()
	events := make(chan runtime.Event)
	go f.world.pump(ctx, watch, events)
	return events, nil
}

// pump moves events from the backlog to the channel until ctx ends.
func (w *world) pump(ctx context.Context, watch *subscription, events chan<- runtime.Event) {
	defer close(events)
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watches = slices.DeleteFunc(w.watches, func(x *subscription) bool { return x == watch })
	}()
	for {
		var next runtime.Event
		err := w.await(ctx, func() bool {
			if len(watch.backlog) == 0 {
				return false
			}
			next, watch.backlog = watch.backlog[0], watch.backlog[1:]
			return true
		})
		if err != nil {
			return
		}
		select {
		case events <- next:
		case <-ctx.Done():
			return
		}
	}
}
