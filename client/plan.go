package client

import (
	"context"
	"net/http"
	"time"
)

// Plan is the list of actions that the controller would do now, with reasons.
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
	Fields  []string  `json:"fields,omitempty"` // configuration fields that have changed
	After   time.Time `json:"after,omitzero"`   // earliest time of the action
}

// Plan returns what the controller would do now.
func (c *Client) Plan(ctx context.Context) (Plan, error) {
	return call[Plan](ctx, c, http.MethodGet, "/v1/plan", nil)
}

// PreviewRequest is a configuration to preview.
type PreviewRequest struct {
	Config string `json:"config"`         // the text of a city.toml
	Path   string `json:"path,omitempty"` // absolute path of its file, for positions in errors and for relative paths in it
}

// Preview returns what the controller would do with this configuration. If it is not valid, the
// error is [ErrInvalid]. Nothing is changed.
func (c *Client) Preview(ctx context.Context, req PreviewRequest) (Plan, error) {
	return call[Plan](ctx, c, http.MethodPost, "/v1/plan", req)
}
