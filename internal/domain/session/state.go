package session

import (
	"fmt"
	"slices"

	"gascity/client"
)

// State is a session's lifecycle: a client.State word. It is one axis; what an
// agent is doing is another, see [Activity]. The empty state is [StateUnknown].
type State string

// The states.
const (
	StateCreating    State = client.StateCreating    // a start was begun; it is unknown yet whether anything exists
	StateStarting    State = client.StateStarting    // the session exists, its agent is not ready
	StateRunning     State = client.StateRunning     // its agent runs
	StateDraining    State = client.StateDraining    // it runs and was asked to wind down
	StateStopping    State = client.StateStopping    // its end was ordered and is not confirmed
	StateStopped     State = client.StateStopped     // it does not run, as it should be
	StateAsleep      State = client.StateAsleep      // it does not run until there is something for it
	StateSuspended   State = client.StateSuspended   // it does not run until a person resumes it
	StateQuarantined State = client.StateQuarantined // it failed too often and is left alone until its release
	StateLost        State = client.StateLost        // it vanished without a trace
	StateFailed      State = client.StateFailed      // its start failed, or it ended without a request
	StateUnknown     State = client.StateUnknown     // it was never observed, or what is stored of it makes no sense
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

// IsHeld reports whether s is only left by its own release.
func (s State) IsHeld() bool { return s == StateSuspended || s == StateQuarantined }

// IsDown reports whether nothing of the session is believed to run.
func (s State) IsDown() bool {
	switch s {
	case StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed, StateLost:
		return true
	default:
		return false
	}
}

// TransitionError says that a trigger does not belong into a state. It never
// blocks: To is where the session is all the same, and the error is logged.
type TransitionError struct {
	From    State
	Trigger Trigger
	To      State
}

func (e *TransitionError) Error() string {
	if e.From.IsHeld() {
		return fmt.Sprintf("%q does not apply to a session that is %s; release it first", e.Trigger, e.From)
	}
	return fmt.Sprintf("%q does not apply to a session that is %s; it is taken to be %s", e.Trigger, e.From, e.To)
}

// Next returns the state after a trigger. It is total. A word that is no state
// counts as [StateUnknown]. For a pair that ought not to happen it returns the
// state that is true all the same, beside a [*TransitionError] for the log: what
// was seen wins over what was expected, and what was merely intended changes
// nothing.
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
