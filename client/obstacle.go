package client

import (
	"cmp"
	"fmt"
	"time"
)

// The kinds of obstacles. Readers treat an unknown kind as [ObstacleError].
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
	Detail  string    `json:"detail,omitempty"` // message of the agent CLI
	Attempt int       `json:"attempt,omitempty"`
	Of      int       `json:"of,omitempty"`      // attempts after which the agent CLI gives up; 0 if unknown
	NextTry time.Time `json:"next_try,omitzero"` // when the agent CLI repeats its request; zero if unknown
	ResetAt time.Time `json:"reset_at,omitzero"` // for a limit: when it ends; zero if unknown
	// ProbeAt is when the next prompt is tried, or the next start, in spite of a login or a limit;
	// prompts wait until then. [Client.Resume] makes it happen at once. Zero means that nothing
	// waits.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	Probes  int       `json:"probes,omitempty"` // number of tries since the obstacle began
	Source  string    `json:"source,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// String returns the obstacle as text, without times.
func (o AgentObstacle) String() string {
	words := cmp.Or(map[string]string{
		ObstacleRetrying: "retrying", ObstacleNoNetwork: "no network", ObstacleLogin: "login needed", ObstacleLimit: "usage limit reached",
	}[o.Kind], "the last turn failed")
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
