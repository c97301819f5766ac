package session

import (
	"slices"

	"gascity/client"
)

// State is a session's lifecycle state: one of the states of package client. It is independent of
// the agent's [Activity]. The empty state is [StateUnknown]. docs/reference/states.md describes the states.
type State string

// The states.
const (
	StateCreating    State = client.StateCreating    // a start has begun; it is unknown whether the session exists
	StateStarting    State = client.StateStarting    // the session exists, its agent is not ready
	StateRunning     State = client.StateRunning     // its agent runs
	StateDraining    State = client.StateDraining    // it runs and was asked to finish its work
	StateStopping    State = client.StateStopping    // a stop was requested and is not confirmed yet
	StateStopped     State = client.StateStopped     // it does not run, as desired
	StateAsleep      State = client.StateAsleep      // it does not run until there is work for it
	StateSuspended   State = client.StateSuspended   // it does not run until a person resumes it
	StateQuarantined State = client.StateQuarantined // it failed too often and does not start until it is released
	StateLost        State = client.StateLost        // it disappeared and its exit is unknown
	StateFailed      State = client.StateFailed      // its start failed, or it exited without a request
	StateUnknown     State = client.StateUnknown     // it was never observed, or its stored state is invalid
)

// States returns every state.
func States() []State {
	return []State{
		StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateStopping,
		StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed, StateLost,
	}
}

// IsValid reports whether s is one of [States].
func (s State) IsValid() bool { return slices.Contains(States(), s) }

// IsDown reports whether the session does not run in this state.
func (s State) IsDown() bool {
	switch s {
	case StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed, StateLost:
		return true
	default:
		return false
	}
}

// OneRow returns the agents of a status with one row each. An agent that moves to another runtime provider has two
// rows until its old session has stopped; the row of the new, stopped session is left out.
func OneRow(agents []client.Agent) []client.Agent {
	hasSession := map[string]bool{}
	for _, a := range agents {
		hasSession[a.Name] = hasSession[a.Name] || a.State != client.StateStopped
	}
	return slices.DeleteFunc(slices.Clone(agents), func(a client.Agent) bool { return a.State == client.StateStopped && hasSession[a.Name] })
}
