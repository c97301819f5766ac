package client

import (
	"context"
	"net/http"
	"time"
)

// Plan is what the controller would do now, and why.
type Plan struct {
	Actions []Action  `json:"actions"`
	At      time.Time `json:"at"`
}

// Action is one step of a plan.
type Action struct {
	Verb    string    `json:"verb"` // start, stop, restart, relaunch, apply-live, adopt, wait, none
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session"`
	Reason  string    `json:"reason"`
	Fields  []string  `json:"fields,omitempty"` // configuration fields behind a drift
	After   time.Time `json:"after,omitzero"`   // not before this
}

// Plan returns what the controller would do now.
func (c *Client) Plan(ctx context.Context) (Plan, error) {
	return call[Plan](ctx, c, http.MethodGet, "/v1/plan", nil)
}

// PreviewRequest is another configuration for a city.
type PreviewRequest struct {
	Config string `json:"config"`         // the text of a city.toml
	Path   string `json:"path,omitempty"` // where it is from, absolute: for positions in errors, and what is relative to it
}

// Preview returns what the controller would do if that were its configuration. A
// faulty one is [ErrInvalid]. Nothing is changed.
func (c *Client) Preview(ctx context.Context, req PreviewRequest) (Plan, error) {
	return call[Plan](ctx, c, http.MethodPost, "/v1/plan", req)
}
