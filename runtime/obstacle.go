package runtime

import "time"

// The kinds of obstacles. A reader treats an unknown kind as [ObstacleError].
const (
	ObstacleRetrying  = "retrying"   // the agent CLI repeats a request that failed
	ObstacleNoNetwork = "no_network" // the model provider cannot be reached
	ObstacleLogin     = "login"      // the model provider refuses the credentials
	ObstacleLimit     = "limit"      // a usage limit is reached
	ObstacleError     = "error"      // the last turn ended with an error
)

// Obstacle is what keeps a running agent from making progress, as one source reports it. The zero
// value means no obstacle.
type Obstacle struct {
	Kind    string `json:"kind,omitempty"`   // one of the Obstacle kinds; empty if there is no obstacle
	Detail  string `json:"detail,omitempty"` // message of the agent CLI
	Attempt int    `json:"attempt,omitempty"`
	// Of is the number of attempts after which the agent CLI gives up; 0 if unknown.
	Of      int       `json:"of,omitempty"`
	NextTry time.Time `json:"next_try,omitzero"` // when the agent CLI repeats the request; zero if unknown
	ResetAt time.Time `json:"reset_at,omitzero"` // for a limit: when it ends; zero if unknown
}
