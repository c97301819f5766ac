package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// The conditions that a wait can wait for.
const (
	WaitIdle    = "idle"    // the target is idle or ready, and has no new prompt that it will begin with
	WaitBusy    = "busy"    // the target is in a turn
	WaitWaiting = "waiting" // the target waits for a person
	WaitRunning = "running" // the target runs and its start is complete
	WaitStopped = "stopped" // the target does not run
	WaitReceipt = "receipt" // the receipt Arg has ended
	WaitPending = "pending" // the pending question Arg has ended
	WaitTime    = "time"    // the time Arg, in RFC 3339, is reached
	WaitCommand = "command" // the shell command Arg exits with status 0
)

// AgentConditions returns the conditions that have a target.
func AgentConditions() []string {
	return []string{WaitIdle, WaitBusy, WaitWaiting, WaitRunning, WaitStopped}
}

// OtherConditions returns the conditions that have an argument.
func OtherConditions() []string { return []string{WaitReceipt, WaitPending, WaitTime, WaitCommand} }

// WaitRequest describes a wait.
type WaitRequest struct {
	Target  string        `json:"target,omitempty"` // agent or session, for conditions that need one
	For     string        `json:"for"`              // one of the Wait constants
	Arg     string        `json:"arg,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0 means as long as the caller waits; for a registered wait 24 h

	// For registered waits: the agent that is notified by a prompt, and the
	// text of that prompt.
	Owner string `json:"owner,omitempty"`
	Text  string `json:"text,omitempty"` // empty means a sentence about the condition
}

// The states of a wait.
const (
	WaitOpen      = "open"
	WaitFulfilled = "fulfilled"
	WaitExpired   = "expired"
	WaitCancelled = "cancelled"
	WaitFailed    = "failed" // it can never be fulfilled, see Reason
)

// Wait is the state of a wait.
type Wait struct {
	ID        string    `json:"id,omitempty"` // of registered waits
	Target    string    `json:"target,omitempty"`
	For       string    `json:"for"`
	Arg       string    `json:"arg,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	Text      string    `json:"text,omitempty"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Receipt   string    `json:"receipt,omitempty"` // receipt of the prompt that notified the owner
	CreatedAt time.Time `json:"created_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

// Await blocks until the condition is true or can never become true: read the state. At the timeout
// the error is [ErrTimeout].
func (c *Client) Await(ctx context.Context, req WaitRequest) (Wait, error) {
	return call[Wait](ctx, c, http.MethodPost, "/v1/await", req)
}

// AddWait registers a durable wait. A prompt notifies its owner of the end.
func (c *Client) AddWait(ctx context.Context, req WaitRequest) (Wait, error) {
	return call[Wait](ctx, c, http.MethodPost, "/v1/waits", req)
}

// Waits returns the registered waits, oldest first. With WithEnded it also returns waits that ended
// recently.
func (c *Client) Waits(ctx context.Context, which Which) ([]Wait, error) {
	return call[[]Wait](ctx, c, http.MethodGet, "/v1/waits"+query(map[string]string{"which": string(which)}), nil)
}

// CancelWait cancels a registered wait.
func (c *Client) CancelWait(ctx context.Context, id string) (Wait, error) {
	return call[Wait](ctx, c, http.MethodDelete, "/v1/waits/"+url.PathEscape(id), nil)
}
