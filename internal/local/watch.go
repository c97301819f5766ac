package local

import (
	"context"
	"sync/atomic"
	"time"

	"gascity/internal/shim"
	"gascity/runtime"
)

// eventBuffer is how far a consumer of events may fall behind before it is told
// to look at everything.
const eventBuffer = 512

// Watch keeps the contract of runtime.Watcher.
func (s *Sessions) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	events := make(chan runtime.Event, eventBuffer)
	var lost atomic.Bool
	send := func(e runtime.Event) bool {
		select {
		case events <- e:
			return true
		default:
			lost.Store(true)
			return false
		}
	}
	go func() { // ends with ctx; its end closes the channel, which is how the caller knows
		defer close(events)
		err := s.fleet.Watch(ctx, func(sighting shim.Sighting) {
			if lost.Load() && len(events) < eventBuffer/2 {
				lost.Store(!send(runtime.Event{Kind: runtime.EventResync, Time: time.Now()}))
			}
			if e, ok := eventOf(sighting); ok {
				send(e)
			}
		})
		if ctx.Err() == nil {
			s.opts.Logger.Error("watching sessions failed", "error", err)
		}
	}()
	return events, nil
}

func eventOf(s shim.Sighting) (runtime.Event, bool) {
	e := runtime.Event{Session: s.Name, Time: s.Time}
	switch s.Kind {
	case shim.EventResync:
		e.Kind = runtime.EventResync
	case shim.EventAppeared:
		e.Kind = runtime.EventStarted
	case shim.EventGone:
		e.Kind = runtime.EventGone
	case shim.EventOutput:
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

func exited(e runtime.Event, s shim.Sighting) runtime.Event {
	exit := exitOf(*s.Exit)
	e.Kind, e.Exit = runtime.EventExited, &exit
	return e
}
