package client

import (
	"fmt"
	"time"
)

// The kinds of obstacles. Readers treat a kind that they do not know as [ObstacleError].
const (
	ObstacleRetrying  = "retrying"   // the agent CLI repeats a request that failed
	ObstacleNoNetwork = "no_network" // the model provider cannot be reached
	ObstacleLogin     = "login"      // the model provider refuses the credentials
	ObstacleLimit     = "limit"      // a usage limit is reached
	ObstacleError     = "error"      // the last turn ended with an error
)

// AgentObstacle is what keeps an agent from making progress.
type AgentObstacle struct {
	Kind    string    `json:"kind"`             // "retrying", "no_network", "login", "limit" or "error"
	Detail  string    `json:"detail,omitempty"` // in the agent CLI's own words
	Attempt int       `json:"attempt,omitempty"`
	Of      int       `json:"of,omitempty"`      // attempts after which the agent CLI gives up; 0: not known
	NextTry time.Time `json:"next_try,omitzero"` // when the agent CLI repeats its request; zero: not known
	ResetAt time.Time `json:"reset_at,omitzero"` // of a limit: when it ends; zero: not known
	// ProbeAt is when the next prompt is offered, or the next start tried, in spite of a login or
	// a limit; prompts wait until then. [Client.Resume] has it done at once. Zero: nothing waits.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	Probes  int       `json:"probes,omitempty"` // how many were tried since it began
	Source  string    `json:"source,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// String returns the obstacle in words, without times.
func (o AgentObstacle) String() string {
	words := map[string]string{
		ObstacleRetrying: "retrying", ObstacleNoNetwork: "no network", ObstacleLogin: "login needed", ObstacleLimit: "usage limit reached",
	}[o.Kind]
	if words == "" {
		words = "the last turn failed"
	}
	switch {
	case o.Attempt > 0 && o.Of > 0:
		words += fmt.Sprintf(" (attempt %d of %d)", o.Attempt, o.Of)
	case o.Attempt > 0:
		words += fmt.Sprintf(" (attempt %d)", o.Attempt)
	}
	if o.Detail != "" {
		words += ": " + o.Detail
	}
	return words
}
