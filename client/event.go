package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// Event is one entry of a city's event stream.
type Event struct {
	ID      uint64            `json:"id"` // increases by at least one; resume with it
	Time    time.Time         `json:"time"`
	Kind    string            `json:"kind"` // "session.started", "controller.reloaded", ...; docs/reference/events.md
	Agent   string            `json:"agent,omitempty"`
	Session string            `json:"session,omitempty"`
	Text    string            `json:"text,omitempty"` // for people
	Data    map[string]string `json:"data,omitempty"`
}

// EventPage is what is remembered of the event stream.
type EventPage struct {
	Events []Event `json:"events"`
	Last   uint64  `json:"last"` // the id to resume with
	Gap    bool    `json:"gap"`  // events after the asked id have been forgotten
}

// GapError says that events were lost to this reader: they had been forgotten
// before it could resume. What it concluded from earlier events may be out of
// date; read the status again. The stream goes on.
type GapError struct {
	After uint64 `json:"after"`          // the last event that the reader has
	Next  uint64 `json:"next,omitempty"` // the next event that it will get; zero if that is not known yet
}

func (e *GapError) Error() string { return fmt.Sprintf("events after %d were lost", e.After) }

// PastEvents returns the remembered events after the given id; zero returns all
// of them.
func (c *Client) PastEvents(ctx context.Context, after uint64) (EventPage, error) {
	return call[EventPage](ctx, c, http.MethodGet, fmt.Sprintf("/v1/events?after=%d", after), nil)
}

// Events follows the event stream: the remembered events after the given id,
// then every new one, until ctx ends or the loop is left. A broken connection is
// resumed where it broke. An error of type [*GapError] comes between events and
// is no end; any other error is the last value. A controller that is not there
// when the loop begins, or stays away for [ResumeFor], is [ErrNoController]. The
// end of ctx yields nothing.
func (c *Client) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, last: after, yield: yield}
		s.follow(ctx)
	}
}
