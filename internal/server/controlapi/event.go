package controlapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/redact"
)

const (
	// heartbeat is how often a silent stream shows that it lives.
	heartbeat = 15 * time.Second

	// maxLag is how many events a reader may be behind before it is cut off. It
	// resumes by itself, and receives a gap if it was away too long.
	maxLag = 1024
)

// pastInput says after which event to begin, and which events are wanted.
type pastInput struct {
	After  uint64    `query:"after" doc:"the id of the last event that the reader has; 0 is none"`
	Since  time.Time `query:"since" doc:"no event that is older"`
	Target string    `query:"target" maxLength:"1024" doc:"only events of the agent or session of this name"`
}

func (in *pastInput) query() client.EventQuery {
	return client.EventQuery{After: in.After, Since: in.Since, Target: in.Target}
}

func pastEvents(parent context.Context, city City, in *pastInput) (*reply[client.EventPage], error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	q := in.query()
	after, err := since(ctx, city, q)
	if err != nil {
		return nil, err
	}
	past, gap, _, err := city.Events(ctx, after)
	page := client.EventPage{Events: wanted(past, q), Gap: gap, Last: after}
	if gap {
		page.Last = 0
	}
	if len(past) > 0 {
		page.Last = past[len(past)-1].ID
	}
	return answer(page, err)
}

// since returns the id to read after so that nothing that the query wants is left out.
func since(ctx context.Context, city City, q client.EventQuery) (uint64, error) {
	dated, ok := city.(EventFinder)
	if !ok || q.Since.IsZero() {
		return q.After, nil
	}
	older, err := dated.Since(ctx, q.Since)
	return max(q.After, older), err
}

// wanted returns the events that the query selects, whatever their ids.
func wanted(past []client.Event, q client.EventQuery) []client.Event {
	kept := make([]client.Event, 0, len(past))
	for _, e := range past {
		if wants(e, q) {
			kept = append(kept, e)
		}
	}
	return kept
}

// wants reports whether the query selects an event. The time of events does not
// follow their order where the clock was set back.
func wants(e client.Event, q client.EventQuery) bool {
	return !e.Time.Before(q.Since) && (q.Target == "" || e.Agent == q.Target || e.Session == q.Target)
}

// events writes the event stream as server-sent events.
func events(parent context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	after, err := lastEventID(r)
	if err != nil {
		return err
	}
	from, err := timeOf(r, "since")
	if err != nil {
		return err
	}
	q := client.EventQuery{After: after, Since: from, Target: r.FormValue("target")}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	if after, err = since(ctx, s.city, q); err != nil {
		return err
	}
	past, gap, next, err := s.city.Events(ctx, after)
	if err != nil {
		return err
	}
	out := sse{w: s.stream(w), secrets: s.secrets}
	out.open()
	if gap {
		lost := client.GapError{After: after}
		if len(past) > 0 {
			lost.Next = past[0].ID
		}
		out.data("gap", 0, lost)
	}
	for _, e := range wanted(past, q) {
		out.event(e)
	}
	kept := queue(ctx, next)
	out.follow(ctx, kept, client.EventQuery{Target: q.Target}, s.heartbeat)
	if len(kept) == maxLag || errors.Is(out.err, os.ErrDeadlineExceeded) {
		s.log.Warn("a slow reader of the event stream was cut off")
	}
	cancel()
	for range kept { // wait for its goroutine
	}
	return nil
}

// queue keeps at most [maxLag] events for a reader, so that the city never
// waits for one. It closes its channel when next is closed, ctx has ended, or
// the reader is too far behind.
func queue(ctx context.Context, next <-chan client.Event) <-chan client.Event {
	kept := make(chan client.Event, maxLag)
	go func() { // the reader waits for the end by draining kept
		defer close(kept)
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-next:
				if !open || len(kept) == maxLag {
					return
				}
				kept <- e
			}
		}
	}()
	return kept
}

// lastEventID reads where to resume: the header that a stream sends by itself,
// or the parameter "after".
func lastEventID(r *http.Request) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.FormValue("after")
	}
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: event id %q is not a number", client.ErrInvalid, text)
	}
	return id, nil
}

// sse writes server-sent events. After a failed write it writes no more.
type sse struct {
	w       *streamWriter
	secrets *redact.Redactor
	err     error
}

func (s *sse) open() {
	s.w.w.Header().Set("Content-Type", "text/event-stream")
	s.w.w.Header().Set("Cache-Control", "no-store")
	s.print(": %s\n\n", "the event stream")
}

func (s *sse) print(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func (s *sse) event(e client.Event) { s.data("event", e.ID, e) }

// data writes one event; an id of zero is left out, so that the reader keeps
// the one it has.
func (s *sse) data(kind string, id uint64, value any) {
	text, err := s.secrets.Encode(value) // one line: JSON escapes line ends
	if err != nil {
		s.err = err
		return
	}
	if id != 0 {
		s.print("id: %d\nevent: %s\ndata: %s\n\n", id, kind, text)
		return
	}
	s.print("event: %s\ndata: %s\n\n", kind, text)
}

// follow writes what comes and is wanted until ctx ends, next is closed or a write fails: a
// stream that has begun has no other end, and the reader resumes.
func (s *sse) follow(ctx context.Context, next <-chan client.Event, q client.EventQuery, pulse time.Duration) {
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			s.print(": heartbeat\n\n")
		case e, open := <-next:
			if !open {
				return
			}
			if wants(e, q) {
				s.event(e)
			}
		}
	}
}
