package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"time"

	"gascity/internal/httpwire"
)

const (
	// ResumeFor is how long [Client.Events] tries to reach a controller after the connection is
	// lost.
	ResumeFor = 10 * time.Second

	firstPause = 20 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// errLeft reports that the caller has left the loop.
var errLeft = errors.New("reader left")

// stream is one reader of the event stream. Only one goroutine uses it.
type stream struct {
	client *Client
	query  EventQuery // After is the id of the last event that was read
	opened bool       // a response has arrived since the last failure
	yield  func(Event, error) bool
}

// follow reads the stream and connects again after a failure. It ends if the first connection
// fails, or if no connection succeeds for [ResumeFor].
func (s *stream) follow(ctx context.Context) {
	var brokenAt time.Time
	pause := firstPause
	ever := false
	for {
		s.opened = false
		err := httpwire.ReadStream(ctx, s.open, s.dispatch) // never nil
		if errors.Is(err, errLeft) || ctx.Err() != nil {
			return
		}
		if s.opened {
			ever, brokenAt, pause = true, time.Now(), firstPause
		}
		if _, answered := errors.AsType[*Problem](err); answered || !ever || time.Since(brokenAt) > ResumeFor {
			s.yield(Event{}, err)
			return
		}
		if !httpwire.Pause(ctx, pause) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

// open requests the events after the last one that was read.
func (s *stream) open(ctx context.Context) (*http.Response, error) {
	res, err := s.client.openStream(ctx, "/v1/events/stream"+s.query.parameters(), http.Header{"Last-Event-Id": {strconv.FormatUint(s.query.After, 10)}})
	s.opened = err == nil
	return res, err
}

// openStream requests server-sent events. header has further headers of the request.
func (c *Client) openStream(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", httpwire.EventStream)
	maps.Copy(req.Header, header)
	return c.roundTrip(req)
}

// dispatch passes one server-sent event to the reader. It ignores an unknown kind, which a newer
// server may send.
func (s *stream) dispatch(kind string, data []byte) error {
	switch kind {
	case "gap":
		gap := &GapError{}
		if err := json.Unmarshal(data, gap); err != nil {
			return fmt.Errorf("cannot read a gap in the event stream: %w", err)
		}
		if gap.Next > 0 {
			s.query.After = gap.Next - 1 // the lost events are not requested again
		}
		return s.deliver(Event{}, gap)
	case "event":
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		s.query.After = e.ID
		return s.deliver(e, nil)
	}
	return nil
}

// deliver passes an event or an error to the caller of the iterator. It returns errLeft if the caller has left the
// loop.
func (s *stream) deliver(e Event, err error) error {
	if !s.yield(e, err) {
		return errLeft
	}
	return nil
}

// watch reads one connection of a stream whose events of the given kind are values of type T. It does not connect again.
func watch[T any](ctx context.Context, c *Client, path, kind string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		open := func(ctx context.Context) (*http.Response, error) { return c.openStream(ctx, path, nil) }
		err := httpwire.ReadStream(ctx, open, func(k string, data []byte) error {
			if k != kind {
				return nil // of a newer server
			}
			var v T
			if err := json.Unmarshal(data, &v); err != nil {
				return fmt.Errorf("cannot read a %s of the stream: %w", kind, err)
			}
			if !yield(v, nil) {
				return errLeft
			}
			return nil
		})
		if ctx.Err() == nil && !errors.Is(err, errLeft) {
			var none T
			yield(none, err)
		}
	}
}
