package controlapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"gascity/client"
	"gascity/internal/httpwire"
)

// statusGap is the shortest time between two statuses of a stream.
const statusGap = 200 * time.Millisecond

// watchStatus writes the status, and then each status that differs from the one before, as server-sent events. It reads nothing
// while nothing changes.
func watchStatus(ctx context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	return follow(ctx, s, w, "status", s.sendStatuses)
}

// sendStatuses sends the status, and then each different one, until ctx ends, the events end or send fails.
func (s *Server) sendStatuses(ctx context.Context, send func(client.Status) error) error {
	after, err := since(ctx, s.city, client.EventQuery{Since: time.Now()})
	if err != nil {
		return err
	}
	_, _, next, err := s.city.Events(ctx, after)
	if err != nil {
		return err
	}
	status, err := s.city.Status(ctx)
	if err != nil {
		return err
	}
	var sent client.Status
	for {
		if now := status.WithoutReadTimes(); !reflect.DeepEqual(now, sent) {
			sent = now
			if err := send(status); err != nil {
				return err
			}
		}
		changed := s.city.StatusChanged()
		if status, err = s.city.Status(ctx); err != nil {
			return err
		}
		if !reflect.DeepEqual(status.WithoutReadTimes(), sent) {
			continue // it changed before StatusChanged was called
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-next:
			if !open {
				return nil
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

// follow writes the values that produce sends, as server-sent events with heartbeats between them, until produce returns. It returns
// the error of produce; nil if the reader is gone or too slow, or ctx has ended after the first value. send returns when the value is
// written, so nothing waits for a slow reader: produce makes the next value when it can be sent.
func follow[T any](ctx context.Context, s *Server, w http.ResponseWriter, kind string, produce func(ctx context.Context, send func(T) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	values, written := make(chan T), make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() { // httpwire.Follow waits for the end of this goroutine
		defer close(values)
		ended <- produce(ctx, func(v T) error {
			select {
			case values <- v:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			select {
			case <-written:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	out := eventWriter{StreamWriter: httpwire.NewStreamWriter(w, s.Stall), server: s}
	begun := false
	httpwire.Follow(out.StreamWriter, values, func(v T) {
		begun = true
		out.data(kind, 0, v)
		written <- struct{}{}
	}, cancel, s.Heartbeat)
	if err := <-ended; out.Err() == nil && (!begun || ctx.Err() == nil) {
		return err
	}
	return nil
}
