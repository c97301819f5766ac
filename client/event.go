package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// Event is one entry of a city's event stream.
type Event struct {
	ID      uint64            `json:"id"` // increases with each event; used to resume
	Time    time.Time         `json:"time"`
	Kind    string            `json:"kind"` // "session.started", "controller.reloaded", ...; docs/reference/events.md
	Agent   string            `json:"agent,omitempty"`
	Session string            `json:"session,omitempty"`
	Text    string            `json:"text,omitempty"` // for people
	Data    map[string]string `json:"data,omitempty"`
}

// EventPage is a page of stored events.
type EventPage struct {
	Events []Event `json:"events"`
	Last   uint64  `json:"last"` // the id to resume with
	Gap    bool    `json:"gap"`  // events after the requested id have been deleted
}

// GapError reports that this reader missed events, because they were deleted before it resumed. Its
// conclusions from earlier events may be outdated: it must read the status again. The stream
// continues.
type GapError struct {
	After uint64 `json:"after"`          // id of the last event that the reader received
	Next  uint64 `json:"next,omitempty"` // id of the next event; zero if not known yet
}

func (e *GapError) Error() string { return fmt.Sprintf("events after %d were lost", e.After) }

// EventQuery selects events of the event stream.
type EventQuery struct {
	After uint64    // events after this id; zero means all stored events
	Since time.Time // events from this time on; zero means no limit
	// Target is the name of an agent or a session whose events are selected. Empty means all. A
	// target that does not exist is not an error.
	Target string
}

// parameters returns the query of a URL.
func (q EventQuery) parameters() string {
	return query(map[string]string{"after": strconv.FormatUint(q.After, 10), "since": stamp(q.Since.UTC()), "target": q.Target})
}

// PastEvents returns the stored events after the given id; zero returns all of them.
func (c *Client) PastEvents(ctx context.Context, after uint64) (EventPage, error) {
	return c.FindEvents(ctx, EventQuery{After: after})
}

// FindEvents returns the stored events that the query selects.
func (c *Client) FindEvents(ctx context.Context, q EventQuery) (EventPage, error) {
	return call[EventPage](ctx, c, http.MethodGet, "/v1/events"+q.parameters(), nil)
}

// Events returns the event stream: the stored events after the given id, then every new event,
// until ctx ends or the caller leaves the loop. It resumes a broken connection. An error of type
// [*GapError] can come between events and does not end the stream; any other error is the last
// value. If no controller answers at the beginning, or later for [ResumeFor], the error is
// [ErrNoController]. The end of ctx yields no value.
func (c *Client) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return c.FollowEvents(ctx, EventQuery{After: after})
}

// FollowEvents is like [Client.Events] for the events that the query selects.
func (c *Client) FollowEvents(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, query: q, yield: yield}
		s.follow(ctx)
	}
}
