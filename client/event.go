package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
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

// EventQuery selects from the event stream.
type EventQuery struct {
	After uint64    // what came after the event with this id; zero is all that is remembered
	Since time.Time // and not before this time; zero is no such bound
	// Target leaves what concerns the agent or session of this name; empty is all. That
	// there is none is no error.
	Target string
}

func (q EventQuery) values() string {
	values := url.Values{"after": {strconv.FormatUint(q.After, 10)}}
	if !q.Since.IsZero() {
		values.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Target != "" {
		values.Set("target", q.Target)
	}
	return values.Encode()
}

// PastEvents returns the remembered events after the given id; zero returns all
// of them.
func (c *Client) PastEvents(ctx context.Context, after uint64) (EventPage, error) {
	return c.FindEvents(ctx, EventQuery{After: after})
}

// FindEvents returns the remembered events that the query selects.
func (c *Client) FindEvents(ctx context.Context, q EventQuery) (EventPage, error) {
	return call[EventPage](ctx, c, http.MethodGet, "/v1/events?"+q.values(), nil)
}

// Events follows the event stream: the remembered events after the given id,
// then every new one, until ctx ends or the loop is left. A broken connection is
// resumed where it broke. An error of type [*GapError] comes between events and
// is no end; any other error is the last value. A controller that is not there
// when the loop begins, or stays away for [ResumeFor], is [ErrNoController]. The
// end of ctx yields nothing.
func (c *Client) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return c.FollowEvents(ctx, EventQuery{After: after})
}

// FollowEvents is [Client.Events] of what the query selects.
func (c *Client) FollowEvents(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, query: q, yield: yield}
		s.follow(ctx)
	}
}
