package controlapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/httpwire"
)

// statusGap is the shortest time between two statuses of a stream.
const statusGap = 200 * time.Millisecond

// watchStatus writes the status, and then each status that differs from the one before, as server-sent events. It reads nothing
// while nothing changes.
func watchStatus(parent context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	after, err := since(ctx, s.city, client.EventQuery{Since: time.Now()})
	if err != nil {
		return err
	}
	_, _, next, err := s.city.Events(ctx, after)
	if err != nil {
		return err
	}
	first, err := s.city.Status(ctx)
	if err != nil {
		return err
	}
	out := eventWriter{StreamWriter: httpwire.NewStreamWriter(w, s.Stall), server: s}
	follow(ctx, cancel, out, "status", func(send func(client.Status) error) error {
		return s.sendStatuses(ctx, first, next, send)
	})
	return nil
}

// sendStatuses sends a status, and then each different one, until ctx ends, the events end or send fails.
func (s *Server) sendStatuses(ctx context.Context, status client.Status, next <-chan client.Event, send func(client.Status) error) error {
	var sent client.Status
	notifier, _ := s.city.(StatusNotifier)
	for {
		if now := withoutReadTimes(status); !reflect.DeepEqual(now, sent) {
			sent = now
			if err := send(status); err != nil {
				return err
			}
		}
		var changed <-chan struct{}
		if notifier != nil {
			changed = notifier.StatusChanged()
		}
		var err error
		if status, err = s.city.Status(ctx); err != nil {
			return err
		}
		if !reflect.DeepEqual(withoutReadTimes(status), sent) {
			continue // it changed before StatusChanged was called
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-next:
			if !open {
				return errEnding
			}
		case <-changed:
		}
		if !dropEvents(ctx, next, statusGap) {
			return ctx.Err()
		}
		if status, err = s.city.Status(ctx); err != nil {
			return err
		}
	}
}

// dropEvents reads and ignores events for the time gap, so that several changes in that time are sent as one. It returns false if
// ctx ends.
func dropEvents(ctx context.Context, next <-chan client.Event, gap time.Duration) bool {
	timer := time.NewTimer(gap)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case _, open := <-next:
			if !open {
				next = nil
			}
		}
	}
}

// withoutReadTimes returns a status without the times at which it was read. They change although nothing else does.
func withoutReadTimes(status client.Status) client.Status {
	status.At = time.Time{}
	status.Agents = slices.Clone(status.Agents)
	for i := range status.Agents {
		a := &status.Agents[i]
		a.ReadAt = time.Time{}
		if a.Worker != nil {
			worker := *a.Worker
			worker.UptimeSeconds, worker.HeardAt = 0, time.Time{}
			a.Worker = &worker
		}
	}
	return status
}

// watchScreen writes what a terminal shows, and then each change, as server-sent events. After the agent has exited it writes the
// event "end".
func watchScreen(parent context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	watcher, ok := s.city.(ScreenWatcher)
	if !ok {
		return errNoScreens
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	out := eventWriter{StreamWriter: httpwire.NewStreamWriter(w, s.Stall), server: s}
	var failed error
	begun := false
	follow(ctx, cancel, out, "screen", func(send func(client.Screen) error) error {
		failed = watcher.WatchScreen(ctx, r.PathValue("target"), func(screen client.Screen) error {
			begun = true
			return send(screen)
		})
		return failed
	})
	switch {
	case failed == nil:
		out.data("end", 0, struct{}{})
	case !begun:
		return failed
	}
	return nil
}

// follow writes to out each value that produce sends, with heartbeats in between, until produce returns. If a write fails, it
// calls cancel, which must make produce return.
func follow[T any](ctx context.Context, cancel func(), out eventWriter, kind string, produce func(send func(T) error) error) {
	values := make(chan T)
	go func() { // httpwire.Follow waits for the end of this goroutine
		defer close(values)
		err := produce(func(v T) error {
			select {
			case values <- v:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		if err != nil && ctx.Err() == nil {
			out.server.Log.Debug("a watch ended", "kind", kind, "error", err)
		}
	}()
	httpwire.Follow(out.StreamWriter, values, func(v T) { out.data(kind, 0, v) }, cancel, out.server.Heartbeat)
}
