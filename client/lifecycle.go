package client

import (
	"context"
	"net/http"
	"time"
)

// LifecycleRequest goes with a verb on a session's life.
type LifecycleRequest struct {
	Reason   string        `json:"reason,omitempty"`
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // of a drain; 0 is the agent's drain_timeout
	Instance string        `json:"instance,omitempty"`   // only this instance; see Agent.Instance
	HandOver bool          `json:"hand_over,omitempty"`  // of a restart that was asked for: into a new conversation, which receives a note about the previous one
	Force    bool          `json:"force,omitempty"`      // of a kill: also while the controller cannot remember it, see Controller.Degraded
	InTurn   bool          `json:"in_turn,omitempty"`    // of an interrupt: only if the agent may be in a turn, or about to begin one; else nothing is done
}

// NoTurn ends the detail of an interrupt with LifecycleRequest.InTurn that did nothing.
const NoTurn = "there is no turn to interrupt"

// Drain is whether an agent is to wind down.
type Drain struct {
	Draining bool      `json:"draining"`
	Instance string    `json:"instance,omitempty"` // the instance that is to wind down, by its public name
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"` // it is stopped then, acknowledged or not
	Acked    bool      `json:"acked,omitempty"`
}

// Wake starts a session that sleeps. Quarantine and suspension are
// [ErrRefused]: reset or resume it.
func (c *Client) Wake(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "wake"), req)
}

// Sleep ends a session until it is woken, by hand or by a prompt.
func (c *Client) Sleep(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "sleep"), req)
}

// Suspend ends a session until it is resumed by hand.
func (c *Client) Suspend(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "suspend"), req)
}

// Resume ends a suspension and a drain, and has the next prompt tried at once that an obstacle
// holds back, see [AgentObstacle].
func (c *Client) Resume(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "resume"), req)
}

// Reset forgets failures, quarantine and the conversation: a wanted session starts
// at once, and the next start begins a new conversation.
func (c *Client) Reset(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "reset"), req)
}

// Drain asks an agent to wind down. It is stopped when it acknowledges, or at the
// deadline.
func (c *Client) Drain(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "drain"), req)
}

// DrainState reports to an agent whether it is to wind down.
func (c *Client) DrainState(ctx context.Context, name string) (Drain, error) {
	return call[Drain](ctx, c, http.MethodGet, target(name, "drain"), nil)
}

// DrainAck says that the agent has wound down: it is stopped now.
func (c *Client) DrainAck(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "drain/ack"), req)
}

// RequestRestart asks for a restart at the end of the present turn: what an
// agent says of itself.
func (c *Client) RequestRestart(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "request-restart"), req)
}
