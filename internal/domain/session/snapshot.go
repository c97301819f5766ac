package session

import (
	"context"
	"time"

	"gascity/runtime"
)

// Snapshot is the controller's knowledge of one session at one moment, for deliveries, pending
// questions and waits. It is a copy and never changes.
type Snapshot struct {
	Agent    string
	Session  string
	Provider runtime.Provider // nil: not available
	Desired  string           // one of the desired states of client.Agent
	State    State
	Reason   string // text for the state
	Surplus  bool   // a pool member beyond the wanted number; a prompt makes it run anyway
	// MovesTo is the next session of the agent if the agent was renamed; empty: none.
	MovesTo string
	Unknown string // why the state is unknown; empty if the other fields are valid

	Running   bool   // observed running, and no action is about to stop it
	Ready     bool   // running, and its start is complete
	Token     string // of the running instance: a secret, never stored and never shown
	Instance  string // its public name
	Epoch     uint64
	StartedAt time.Time

	Conversation Conversation
	Hold         Hold
	Draining     bool
	Activity     Activity
	Obstacle     Obstacle // the stored one, see [Record.Obstacle]
	Attached     int      // number of terminals; -1: unknown
	LastInput    time.Time

	// Pending is the question that blocks the agent according to the last reading, nil if there is
	// none. ReadAt is the time of that reading, zero if there was none.
	Pending *runtime.PendingInteraction
	ReadAt  time.Time

	// CityQuestion is a question of the city itself to a person about the agent; it does not block
	// the agent. AnswerCityQuestion handles the answer; it is set if CityQuestion is.
	CityQuestion       *runtime.PendingInteraction
	AnswerCityQuestion func(context.Context, runtime.InteractionResponse) error
}

// Question returns the open question about the agent: the agent's own, else the city's, nil if
// there is none.
func (v *Snapshot) Question() *runtime.PendingInteraction {
	if v.Pending != nil {
		return v.Pending
	}
	return v.CityQuestion
}
