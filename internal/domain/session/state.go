package session

import (
	"fmt"
	"slices"

	"gascity/client"
)

// State is a session's lifecycle state: one of the states of package client. It is independent of
// the agent's [Activity]. The empty state is [StateUnknown].
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

// IsHeld reports whether the session is suspended or quarantined. It leaves these two states only
// when it is released, for example with gc start.
func (s State) IsHeld() bool { return s == StateSuspended || s == StateQuarantined }

// IsDown reports whether the session does not run in this state.
func (s State) IsDown() bool {
	switch s {
	case StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed, StateLost:
		return true
	default:
		return false
	}
}

// TransitionError reports that a trigger was not expected in a state. It does not prevent the
// transition: the session is in state To, and the error is logged.
type TransitionError struct {
	From    State
	Trigger Trigger
	To      State
}

// Error returns to which state the trigger does not apply, and what the state is now.
func (e *TransitionError) Error() string {
	if e.From.IsHeld() {
		return fmt.Sprintf("%q does not apply to a session that is %s; release it first", e.Trigger, e.From)
	}
	return fmt.Sprintf("%q does not apply to a session that is %s; gc now treats it as %s", e.Trigger, e.From, e.To)
}

// Next returns the state after a trigger. It is defined for all arguments; an invalid state counts
// as [StateUnknown]. For an unexpected pair it also returns a [*TransitionError] for the log. Then
// an observation still sets the state that was observed, and an intention changes nothing.
func Next(s State, t Trigger) (State, error) {
	if !s.IsValid() {
		s = StateUnknown
	}
	i := slices.IndexFunc(transitions, func(row transition) bool { return row.trigger == t })
	if i < 0 {
		return s, &TransitionError{From: s, Trigger: t, To: s}
	}
	row := &transitions[i]
	for _, m := range row.moves {
		if slices.Contains(m.from, s) {
			return m.to, nil
		}
	}
	if slices.Contains(row.stays, s) {
		return s, nil
	}
	to := s
	if row.seen != "" && !s.IsHeld() {
		to = row.seen
	}
	return to, &TransitionError{From: s, Trigger: t, To: to}
}
