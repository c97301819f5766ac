package session

import (
	"context"
	"time"

	"gascity/runtime"
)

// Snapshot is what the controller knows of one session at one moment, for those who
// deal with it beside the controller: deliveries, pending questions, waits.
// It is a copy and never changes.
type Snapshot struct {
	Agent    string
	Session  string
	Provider runtime.Provider // nil: it cannot be reached
	Desired  string           // a client Desired word
	State    State
	Reason   string // of the state, in words
	Surplus  bool   // a member that its pool does not want now: a prompt makes it run beyond the number
	// MovesTo is the session that its agent has next, for it was renamed; empty: none.
	MovesTo string
	Unknown string // why nothing is known of it; empty if the rest can be relied on

	Running   bool   // seen to run, and no act is about to end it
	Ready     bool   // running, and its start is complete
	Token     string // of the instance that runs: a capability, never stored and never shown
	Instance  string // its public name
	Epoch     uint64
	StartedAt time.Time

	Conversation Conversation
	Hold         Hold
	Draining     bool
	Activity     Activity
	Obstacle     Obstacle // the kept one, see [Record.Obstacle]
	Attached     int      // -1: unknown to the driver
	LastInput    time.Time

	// Pending is what blocks the agent by the last reading, nil if nothing does;
	// ReadAt is when that was read, zero if never.
	Pending *runtime.PendingInteraction
	ReadAt  time.Time

	// CityQuestion is what the city itself asks a person about the agent; it does not block the agent.
	// Answer takes the answer; it is set together with Asks.
	CityQuestion       *runtime.PendingInteraction
	AnswerCityQuestion func(context.Context, runtime.InteractionResponse) error
}

// Question returns what a person is asked about the agent: by the agent, else by the city. Nil if
// nothing is.
func (v *Snapshot) Question() *runtime.PendingInteraction {
	if v.Pending != nil {
		return v.Pending
	}
	return v.CityQuestion
}
