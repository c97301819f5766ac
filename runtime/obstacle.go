package runtime

import "time"

// The kinds of obstacles. A reader treats a kind that it does not know as [ObstacleError].
const (
	ObstacleRetrying  = "retrying"   // the agent CLI repeats a request that failed
	ObstacleNoNetwork = "no_network" // the model provider cannot be reached
	ObstacleLogin     = "login"      // the model provider refuses the credentials
	ObstacleLimit     = "limit"      // a usage limit is reached
	ObstacleError     = "error"      // the last turn ended with an error
)

// Obstacle is what keeps an agent from making progress although it runs, as one source
// reports it. The zero value is no obstacle.
type Obstacle struct {
	Kind    string `json:"kind,omitempty"`   // one of the Obstacle kinds; empty: there is none
	Detail  string `json:"detail,omitempty"` // the words of the agent CLI
	Attempt int    `json:"attempt,omitempty"`
	// Of is the number of attempts after which the agent CLI gives up; 0: not known.
	Of      int       `json:"of,omitempty"`
	NextTry time.Time `json:"next_try,omitzero"` // when the agent CLI repeats the request; zero: not known
	ResetAt time.Time `json:"reset_at,omitzero"` // of a limit: when it ends; zero: not known
}
