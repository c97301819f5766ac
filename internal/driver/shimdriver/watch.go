package shimdriver

import (
	"context"
	"sync"

	"gascity/internal/driver"
	"gascity/internal/shim"
	"gascity/runtime"
)

// Watch implements runtime.Watcher.
func (s *Sessions) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	f := driver.NewFeed()
	go func() { // stops when ctx ends, and closes the channel
		defer f.Close()
		watching, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { f.Repair(watching) })
		err := s.fleet.Watch(ctx, func(event shim.SessionEvent) {
			if e, ok := eventOf(event); ok {
				f.Send(e)
			}
		})
		cancel()
		wg.Wait()
		if ctx.Err() == nil {
			s.opts.Logger.Error("watching sessions failed", "error", err)
		}
	}()
	return f.Events(), nil
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

// exited completes an event for the exit of an agent with its exit status.
func exited(e runtime.Event, s shim.SessionEvent) runtime.Event {
	exit := exitOf(*s.Exit)
	e.Kind, e.Exit = runtime.EventExited, &exit
	return e
}
