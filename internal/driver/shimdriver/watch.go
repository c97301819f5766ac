package shimdriver

import (
	"context"
	"sync"
	"time"

	"gascity/internal/shim"
	"gascity/runtime"
)

// eventBuffer is how far a consumer of events may fall behind before it gets a
// resync: an event to look at everything.
const eventBuffer = 512

// Watch implements runtime.Watcher.
func (s *Sessions) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	f := newFeed()
	go func() { // ends with ctx; its end closes the channel, which is how the caller knows
		defer close(f.events)
		watching, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { f.repair(watching) })
		err := s.fleet.Watch(ctx, func(sighting shim.SessionEvent) {
			if e, ok := eventOf(sighting); ok {
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

// feed hands events to one consumer and never waits for it. What it had no room for
// is lost, and then a resync follows as soon as there is room, whether or not
// anything else happens.
type feed struct {
	events chan runtime.Event
	lost   chan struct{} // full when something was lost since the last resync
}

func newFeed() *feed {
	return &feed{events: make(chan runtime.Event, eventBuffer), lost: make(chan struct{}, 1)}
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

// repair sends the resyncs until ctx ends.
func (f *feed) repair(ctx context.Context) {
	for {
		select {
		case <-f.lost:
		case <-ctx.Done():
			return
		}
		// What is lost from here on asks for another one.
		select {
		case f.events <- runtime.Event{Kind: runtime.EventResync, Time: time.Now()}:
		case <-ctx.Done():
			return
		}
	}
}

func eventOf(s shim.SessionEvent) (runtime.Event, bool) {
	e := runtime.Event{Session: s.Name, Time: s.Time}
	switch s.Kind {
	case shim.EventResync:
		e.Kind = runtime.EventResync
	case shim.EventAppeared:
		e.Kind = runtime.EventStarted
	case shim.EventGone:
		e.Kind = runtime.EventGone
	case shim.EventOutput, shim.EventAgentEnded: // the latter has no kind of its own: it says look, too
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
