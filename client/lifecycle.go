package client

import (
	"context"
	"net/http"
	"time"
)

// LifecycleRequest is the request of an operation on a session's lifecycle.
type LifecycleRequest struct {
	Reason   string        `json:"reason,omitempty"`
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // for a drain; 0 means the agent's drain_timeout
	Instance string        `json:"instance,omitempty"`   // only for this instance; see Agent.Instance
	HandOver bool          `json:"hand_over,omitempty"`  // for a requested restart: start a new conversation, which receives a note about the previous one
	Force    bool          `json:"force,omitempty"`      // for a kill: also while the controller cannot store it, see Controller.Degraded
	InTurn   bool          `json:"in_turn,omitempty"`    // for an interrupt: only if the agent may be in a turn or may begin one; otherwise nothing is done
}

// NoTurn is the end of the detail of an interrupt with LifecycleRequest.InTurn that did nothing.
const NoTurn = "there is no turn to interrupt"

// Drain reports whether an agent must finish its work and stop.
type Drain struct {
	Draining bool      `json:"draining"`
	Instance string    `json:"instance,omitempty"` // public name of the instance that must finish
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"` // the controller stops it at this time, with or without acknowledgment
	Acked    bool      `json:"acked,omitempty"`
}

// Wake starts a sleeping session. For a session in quarantine or suspension the error is
// [ErrRefused]: use Reset or Resume.
func (c *Client) Wake(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "wake"), req)
}

// Sleep stops a session until a person or a prompt wakes it.
func (c *Client) Sleep(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "sleep"), req)
}

// Suspend stops a session until a person resumes it.
func (c *Client) Suspend(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "suspend"), req)
}

// Resume ends a suspension and a drain. If an obstacle holds back prompts, the next prompt is tried
// at once; see [AgentObstacle].
func (c *Client) Resume(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "resume"), req)
}

// Reset deletes failures, quarantine and the conversation. If the session must run, it starts at
// once; the next start begins a new conversation.
func (c *Client) Reset(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "reset"), req)
}

// Drain asks an agent to finish its work. The controller stops it when it acknowledges, or at the
// deadline.
func (c *Client) Drain(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "drain"), req)
}

// DrainState returns whether an agent must finish its work and stop.
func (c *Client) DrainState(ctx context.Context, name string) (Drain, error) {
	return call[Drain](ctx, c, http.MethodGet, target(name, "drain"), nil)
}

// DrainAck reports that the agent has finished its work. The controller stops it now.
func (c *Client) DrainAck(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "drain/ack"), req)
}

// RequestRestart requests a restart of the agent at the end of the current turn. An agent calls it
// for itself.
func (c *Client) RequestRestart(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "request-restart"), req)
}
