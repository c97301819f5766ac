package shimdriver

import (
	"context"
	"sync"
	"time"

	"gascity/internal/shim"
	"gascity/runtime"
)

// eventBuffer is the number of unread events that a consumer may have before it loses events and gets a resync.
const eventBuffer = 512

// Watch implements runtime.Watcher.
func (s *Sessions) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	f := newFeed()
	go func() { // stops when ctx ends, and closes the channel
		defer close(f.events)
		watching, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { f.repair(watching) })
		err := s.fleet.Watch(ctx, func(event shim.SessionEvent) {
			if e, ok := eventOf(event); ok {
				f.send(e)
			}
		})
		cancel()
		wg.Wait()
		if ctx.Err() == nil {
			s.opts.Logger.Error("watching sessions failed", "error", err)
		}
	}()
	return f.events, nil
}

// feed sends events to one consumer without blocking. Events for which the channel has no space are lost. The consumer then
// gets a resync as soon as there is space.
type feed struct {
	events chan runtime.Event
	lost   chan struct{} // full if an event was lost since the last resync
}

func newFeed() *feed {
	return &feed{events: make(chan runtime.Event, eventBuffer), lost: make(chan struct{}, 1)}
}

// send sends an event without blocking. If the channel is full, it records the loss.
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

// repair sends a resync after each loss until ctx ends.
func (f *feed) repair(ctx context.Context) {
	for {
		select {
		case <-f.lost:
		case <-ctx.Done():
			return
		}
		// An event that is lost from here on causes another resync.
		select {
		case f.events <- runtime.Event{Kind: runtime.EventResync, Time: time.Now()}:
		case <-ctx.Done():
			return
		}
	}
}

// eventOf converts an event of a shim. It returns false for an event that the contract does not have.
func eventOf(s shim.SessionEvent) (runtime.Event, bool) {
	e := runtime.Event{Session: s.Name, Time: s.Time}
	switch s.Kind {
	case shim.EventResync:
		e.Kind = runtime.EventResync
	case shim.EventAppeared:
		e.Kind = runtime.EventStarted
	case shim.EventGone:
		e.Kind = runtime.EventGone
	case shim.EventOutput, shim.EventAgentEnded: // an agent's exit inside its shell has no kind of its own; output events also make consumers observe the session
		e.Kind = runtime.EventOutput
	case shim.EventTitle:
		e.Kind, e.Text = runtime.EventTitle, s.Text
	case shim.EventStatus:
		e.Kind, e.Status = runtime.EventStatus, s.Text
	case shim.EventAttached:
		e.Kind, e.Attached = runtime.EventAttached, s.Attached
	case shim.EventState:
		if s.Exit == nil {
			return e, false
		}
		return exited(e, s), true
	case shim.EventExited:
		return exited(e, s), true
	default:
		return e, false
	}
	return e, true
}

func exited(e runtime.Event, s shim.SessionEvent) runtime.Event {
	exit := exitOf(*s.Exit)
	e.Kind, e.Exit = runtime.EventExited, &exit
	return e
}
