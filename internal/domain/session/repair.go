package session

import (
	"fmt"

	"gascity/runtime"
)

// Facts are what a fresh look found of a session, for [Repair].
type Facts struct {
	// Session and Agent are those of a runtime.Observation.
	Session, Agent runtime.Liveness
	// Exit is how the agent ended, nil if it runs or that is unknown.
	Exit *runtime.Exit
	// Once says that the agent runs once, to its end.
	Once bool
	// Draining and Hold are what the record says beside the state.
	Draining bool
	Hold     HoldKind
}

// trigger returns what the facts amount to, empty if nothing is known.
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

func (f *Facts) orphaned() bool { return f.Session == runtime.Dead && f.Agent == runtime.Alive }

// Repair turns a stored state into one that agrees with what is observed, when
// nothing is under way any more: after a restart of the controller. The reason
// says what was repaired, and is empty if nothing was.
//
// A start that was cut off is running, failed or lost; a stop that was cut off and
// left the session running is forgotten, because only a fresh order ends it. A
// word that is no state follows from the facts alone: unknown as long as there are
// none, in quarantine if its agent lives on where it cannot be reached. A state
// that was held stays so.
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
		return next, fmt.Sprintf("the stored state %q makes no sense, and its agent lives on without its session; end it, then reset", stored)
	case !known && stored != "":
		return next, fmt.Sprintf("the stored state %q makes no sense; it is %s by what is seen", stored, next)
	case next != was && was != StateUnknown:
		return next, fmt.Sprintf("it was %s when the controller ended, and is %s", was, next)
	}
	return next, ""
}

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
	// What is seen is never refused: the error would only say that it was not expected.
	next, err := Next(was, t)
	if err != nil {
		return StateUnknown
	}
	return next
}

// stateUnderHold returns the state of a session that does not run, under a hold.
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
