package client

import (
	"context"
	"net/http"
	"time"
)

// Explanation is everything that the controller knows, concludes and plans about one agent. `gc
// explain` prints it.
type Explanation struct {
	Agent    Agent      `json:"agent"`
	Evidence []Evidence `json:"evidence"` // signals of the activity, the most trusted first
	Facts    []Fact     `json:"facts"`    // facts about session, agent process, store and provider

	Decision string    `json:"decision"` // the plan's verb
	Reason   string    `json:"reason"`   // why, or why not
	Next     string    `json:"next"`     // what happens next, in words
	NextAt   time.Time `json:"next_at,omitzero"`

	Exit       string      `json:"exit,omitempty"`        // how the last instance ended
	Output     string      `json:"output,omitempty"`      // what it said last: standard error or the end of its output
	LastScreen string      `json:"last_screen,omitempty"` // what stood on its screen then, or stands there while it starts
	Failures   []time.Time `json:"failures,omitempty"`    // within the restart window
	Warnings   []string    `json:"warnings,omitempty"`    // of the last start, and of the configuration

	Channel *Channel  `json:"channel,omitempty"` // how prompts reach it; nil: it does not run
	Pending []Pending `json:"pending,omitempty"`
	Queue   []Receipt `json:"queue,omitempty"`
	Recent  []Event   `json:"recent,omitempty"`  // its last events, oldest first
	Budgets []Budget  `json:"budgets,omitempty"` // those that bind it
}

// Channel is the way in which prompts reach a running agent.
type Channel struct {
	Way    string `json:"way" enum:"native,worker,acp,typed"`
	By     string `json:"by,omitempty"`     // for native: the interface of the agent CLI that accepts them
	Reason string `json:"reason,omitempty"` // for typed: why no other way is used
}

// The ways in which prompts reach an agent.
const (
	ChannelNative = "native" // by an interface of the agent CLI beside its terminal
	ChannelWorker = "worker" // by the worker API
	ChannelACP    = "acp"    // by the Agent Client Protocol
	ChannelTyped  = "typed"  // typed into the terminal
)

// Evidence is one signal: what one source reports about the activity.
type Evidence struct {
	Source     string    `json:"source"`
	Activity   string    `json:"activity"`
	Kind       string    `json:"kind,omitempty"`
	Until      time.Time `json:"until,omitzero"`
	Detail     string    `json:"detail,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	ReadAt     time.Time `json:"read_at"`
	Used       bool      `json:"used"` // whether the activity follows from it
	Confidence string    `json:"confidence"`
}

// Fact is one observed fact and the time of its observation.
type Fact struct {
	What   string    `json:"what"`
	Value  string    `json:"value"`
	ReadAt time.Time `json:"read_at,omitzero"`
}

// Explain returns what the controller knows and plans for the target, and why.
func (c *Client) Explain(ctx context.Context, name string) (Explanation, error) {
	return call[Explanation](ctx, c, http.MethodGet, target(name, "explain"), nil)
}
