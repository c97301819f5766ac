package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// ResumeFor is how long [Client.Events] tries to reach a controller after the connection is
	// lost.
	ResumeFor = 10 * time.Second

	// streamSilence is how long a stream may send nothing before the client closes it as broken.
	// The server sends a heartbeat every 15 s.
	streamSilence = 45 * time.Second

	firstPause = 20 * time.Millisecond
	longPause  = 500 * time.Millisecond

	maxStreamLine = 4 << 20
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
		err := s.read(ctx)
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
		if !wait(ctx, pause) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

// read reads one connection until it ends. It always returns an error.
func (s *stream) read(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	req, err := s.client.request(ctx, http.MethodGet, "/v1/events/stream?"+s.query.values(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", strconv.FormatUint(s.query.After, 10))
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	res, err := s.client.roundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	s.opened = true
	return s.parse(res.Body, func() { silence.Reset(streamSilence) })
}

// parse reads the text/event-stream format. It calls alive for each line.
func (s *stream) parse(body io.Reader, alive func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxStreamLine)
	var kind string
	var data []byte
	for lines.Scan() {
		alive()
		line := lines.Bytes()
		if len(line) == 0 {
			if err := s.dispatch(kind, data); err != nil {
				return err
			}
			kind, data = "", nil
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			kind = string(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		default: // the id is in the data too; comments are heartbeats
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the event stream broke: %w", err)
	}
	return fmt.Errorf("the event stream broke: %w", io.ErrUnexpectedEOF)
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

func (s *stream) deliver(e Event, err error) error {
	if !s.yield(e, err) {
		return errLeft
	}
	return nil
}

// wait waits for d. It returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
