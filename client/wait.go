package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// What can be waited for.
const (
	WaitIdle    = "idle"    // the target is idle or ready, and not about to begin with a prompt that it was just given
	WaitBusy    = "busy"    // the target is in a turn
	WaitWaiting = "waiting" // the target asks a person
	WaitRunning = "running" // the target runs, its start is complete
	WaitStopped = "stopped" // the target does not run
	WaitReceipt = "receipt" // the receipt Arg has ended
	WaitPending = "pending" // the pending question Arg has ended
	WaitTime    = "time"    // the time Arg, RFC 3339, has come
	WaitCommand = "command" // the shell command Arg exits 0
)

// WaitRequest says what is waited for.
type WaitRequest struct {
	Target  string        `json:"target,omitempty"` // an agent or session, for the conditions that have one
	For     string        `json:"for"`              // one of the Wait words
	Arg     string        `json:"arg,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0: as long as the caller waits; of a registered one 24 h

	// Of registered waits: the agent that is notified by a prompt, and the
	// words of that prompt.
	Owner string `json:"owner,omitempty"`
	Text  string `json:"text,omitempty"` // empty: a sentence about the condition
}

// The states of a wait.
const (
	WaitOpen      = "open"
	WaitFulfilled = "fulfilled"
	WaitExpired   = "expired"
	WaitCancelled = "cancelled"
	WaitFailed    = "failed" // it can never come true, see Reason
)

// Wait is a condition that somebody waits for.
type Wait struct {
	ID        string    `json:"id,omitempty"` // of registered waits
	Target    string    `json:"target,omitempty"`
	For       string    `json:"for"`
	Arg       string    `json:"arg,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	Text      string    `json:"text,omitempty"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Receipt   string    `json:"receipt,omitempty"` // of the prompt that notified the owner
	CreatedAt time.Time `json:"created_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

// Await blocks until the condition holds or can never hold: read the state. The
// end of its time is [ErrTimeout].
func (c *Client) Await(ctx context.Context, req WaitRequest) (Wait, error) {
	return call[Wait](ctx, c, http.MethodPost, "/v1/await", req)
}

// AddWait registers a durable wait, whose end is reported to its owner by a
// prompt.
func (c *Client) AddWait(ctx context.Context, req WaitRequest) (Wait, error) {
	return call[Wait](ctx, c, http.MethodPost, "/v1/waits", req)
}

// Waits lists the registered waits, oldest first. With ended the recent ends are
// listed too.
func (c *Client) Waits(ctx context.Context, which Which) ([]Wait, error) {
	path := "/v1/waits"
	if which != OnlyOpen {
		path += "?which=" + url.QueryEscape(string(which))
	}
	return call[[]Wait](ctx, c, http.MethodGet, path, nil)
}

// CancelWait ends a registered wait.
func (c *Client) CancelWait(ctx context.Context, id string) (Wait, error) {
	return call[Wait](ctx, c, http.MethodDelete, "/v1/waits/"+url.PathEscape(id), nil)
}
