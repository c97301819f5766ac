package session

import (
	"fmt"

	"gascity/runtime"
)

// Facts are the results of a fresh observation of a session, for [Repair].
type Facts struct {
	// Session and Agent are from a runtime.Observation.
	Session, Agent runtime.Liveness
	// Exit is how the agent exited; nil if it runs or if unknown.
	Exit *runtime.Exit
	// Once is true for a one-shot agent.
	Once bool
	// Draining and Hold are from the record.
	Draining bool
	Hold     HoldKind
}

// trigger returns the trigger that matches the facts, empty if they are incomplete.
func (f *Facts) trigger() Trigger {
	switch {
	case f.Session == runtime.Dead && f.Agent == runtime.Dead:
		return TriggerVanished
	case f.Session == runtime.Alive && (f.Agent == runtime.Dead || f.Exit != nil):
		if f.Once && f.Exit != nil && f.Exit.Code == 0 && f.Exit.Signal == "" {
			return TriggerFinished
		}
		return TriggerExited
	case f.Session == runtime.Alive && f.Agent == runtime.Alive:
		return TriggerSeen
	}
	return ""
}

// orphaned reports whether the agent runs although its session is gone.
func (f *Facts) orphaned() bool { return f.Session == runtime.Dead && f.Agent == runtime.Alive }

// Repair returns the state that agrees with the observed facts after a restart of the controller,
// when no action is in progress any more. The reason describes the repair; it is empty if nothing
// was repaired.
//
// An interrupted start becomes running, failed or lost. After an interrupted stop, a session that
// still runs becomes running again, because only a new request may stop it. If the stored text is
// not a state, only the facts count: the state is unknown without facts, and quarantined if the
// agent runs without its session. A suspended or quarantined state stays.
func Repair(stored string, facts Facts) (state State, reason string) {
	was := State(stored)
	known := was.IsValid()
	if !known {
		was = StateUnknown
	}
	next := repaired(was, &facts)
	if !known && facts.orphaned() {
		next = StateQuarantined
	}
	if was == StateUnknown && next.IsDown() && !next.IsHeld() && !facts.orphaned() {
		next = stateUnderHold(next, facts.Hold)
	}
	switch {
	case !known && stored != "" && next == StateQuarantined:
		return next, fmt.Sprintf("the stored state %q is not valid, and its agent still runs without its session; stop the agent, then reset it", stored)
	case !known && stored != "":
		return next, fmt.Sprintf("the stored state %q is not valid; the observed state is %s", stored, next)
	case next != was && was != StateUnknown:
		return next, fmt.Sprintf("it was %s when the controller stopped, and is now %s", was, next)
	}
	return next, ""
}

// repaired returns the state that agrees with the facts, given the stored state was. A suspended or
// quarantined state stays.
func repaired(was State, facts *Facts) State {
	t := facts.trigger()
	switch {
	case was.IsHeld(), t == "" && !facts.orphaned():
		return was
	case facts.orphaned():
		return StateLost
	case t == TriggerSeen && was == StateStopping, t == TriggerSeen && was == StateDraining && !facts.Draining:
		return StateRunning
	case t != TriggerSeen && was == StateStopping:
		return StateStopped
	}
	// The error is ignored: it would only report that the observation was not expected.
	next, err := Next(was, t)
	if err != nil {
		return StateUnknown
	}
	return next
}

// stateUnderHold returns the state of a session that does not run: asleep or suspended if the hold
// says so, otherwise s.
func stateUnderHold(s State, hold HoldKind) State {
	switch hold {
	case HoldSleep:
		return StateAsleep
	case HoldSuspend, HoldBudget:
		return StateSuspended
	default:
		return s
	}
}
