package client

import "time"

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
