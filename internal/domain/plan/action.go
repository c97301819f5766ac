package plan

import (
	"time"

	"gascity/internal/domain/session"
)

// Verb is what is to be done about one session.
type Verb string

// The verbs. Stop, restart and relaunch end an agent's process; the others never
// do.
const (
	VerbStart     Verb = "start"
	VerbStop      Verb = "stop"
	VerbRestart   Verb = "restart"    // stop, then start
	VerbRelaunch  Verb = "relaunch"   // a new agent in the warm box
	VerbApplyLive Verb = "apply-live" // run the live commands again, the agent goes on
	VerbAdopt     Verb = "adopt"      // take over what runs already
	VerbDrain     Verb = "drain"      // ask the agent to wind down: keep Action.Drain
	VerbInterrupt Verb = "interrupt"  // end the agent's turn, the agent goes on
	VerbWait      Verb = "wait"       // something is due, but not now
	VerbNone      Verb = "none"
)

// Ends reports whether the verb ends an agent's process.
func (v Verb) Ends() bool { return v == VerbStop || v == VerbRestart || v == VerbRelaunch }

// Acts reports whether the verb asks for an act at all.
func (v Verb) Acts() bool { return v != VerbNone && v != VerbWait }

// What a session is meant to be: the words of client.Agent.Desired.
const (
	DesiredRunning   = "running"
	DesiredSuspended = "suspended"
	DesiredStopped   = "stopped" // the city ends, or its work is done
	DesiredAbsent    = "absent"  // not configured any more
)

// Action is the decision about one session: what to do, why, and what the
// session is to be called meanwhile. There is exactly one for each desired
// session and for each session of this city that is not desired.
type Action struct {
	Verb     Verb
	Agent    string
	Session  string
	Provider string

	Desired string    // one of the Desired words
	State   string    // the session's lifecycle: a client.State word
	Reason  string    // in words, for people
	Fields  []string  // configuration fields behind a drift, sorted
	After   time.Time // not before this; zero if nothing but an event is waited for

	// MovePending says that it runs on where it is not configured any more: its agent is to
	// move, and cannot yet.
	MovePending bool

	// Surplus says that it is a member that its pool does not want now: who needs it
	// has it run beyond the number.
	Surplus bool

	// Rebaseline asks to store the present fingerprints without any act: what
	// was stored is by other rules, or was never known.
	Rebaseline bool
	// Drifted says that the act is due to a changed configuration.
	Drifted bool

	// Unrequested says that the act has no request behind it: a running agent is to
	// end for a changed configuration, its age, its idleness or the size of its
	// pool. It is done on a look that is fresh only, for somebody may have come
	// meanwhile.
	Unrequested bool

	// Postponed says that a changed configuration asks for a stop that waits for a moment
	// which interrupts no work. Observed.Apply does it at once.
	Postponed bool
	// Ask is a question for a person: whether the stop that waits is to be done now. Empty:
	// nothing is asked.
	Ask string

	// StalledSince is since when the agent shows no sign of progress in its turn, if that is longer
	// than it may be; zero: it is not stalled.
	StalledSince time.Time

	// StartInterrupted says that the start of the instance was cut off: it is ended, which counts
	// as a start that failed, or taken over with something left undone.
	StartInterrupted bool

	// SelfEnded says that the instance has ended by its own word: that it is cleared away is
	// the end of one that ended by itself.
	SelfEnded bool

	// Drain is what VerbDrain asks to keep; zero with any other verb.
	Drain session.Drain
	// Hold is to be kept before the stop is carried out, so that the session
	// sleeps afterwards. Zero: no new hold.
	Hold session.Hold
	// ReleaseHold says that the hold that is kept is over and is to be forgotten.
	ReleaseHold bool
}
