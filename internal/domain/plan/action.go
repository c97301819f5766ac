package plan

import (
	"time"

	"gascity/internal/domain/session"
)

// Verb is the action that gc takes for one session.
type Verb string

// The verbs. Stop, restart and relaunch stop an agent's process; the others never do.
const (
	VerbStart     Verb = "start"
	VerbStop      Verb = "stop"
	VerbRestart   Verb = "restart"    // stop, then start
	VerbRelaunch  Verb = "relaunch"   // start a new agent process in the existing session
	VerbApplyLive Verb = "apply-live" // run the live commands again; the agent keeps running
	VerbAdopt     Verb = "adopt"      // manage a session that already runs
	VerbDrain     Verb = "drain"      // ask the agent to finish its work; store Action.Drain
	VerbInterrupt Verb = "interrupt"  // interrupt the agent's turn; the agent keeps running
	VerbWait      Verb = "wait"       // an action is due, but not now
	VerbNone      Verb = "none"
)

// Ends reports whether the verb stops an agent's process.
func (v Verb) Ends() bool { return v == VerbStop || v == VerbRestart || v == VerbRelaunch }

// Acts reports whether the verb requires an action now.
func (v Verb) Acts() bool { return v != VerbNone && v != VerbWait }

// Action is the decision about one session: what to do, why, and the state to show meanwhile.
// There is exactly one for each desired session and for each other session of this city.
type Action struct {
	Verb     Verb
	Agent    string
	Session  string
	Provider string

	Desired string    // one of the client.Desired constants
	State   string    // the session's lifecycle: one of the client.State constants
	Reason  string    // text for people
	Fields  []string  // the changed configuration fields, sorted
	After   time.Time // when to decide again; zero: at the next event only

	// MovePending is true if the agent is configured for another runtime provider or name but
	// cannot move there yet. It keeps running where it is.
	MovePending bool

	// Surplus is true for a pool member beyond the wanted number. It runs only if a request for
	// this member needs it.
	Surplus bool

	// Rebaseline asks the caller to store the current fingerprints and do nothing else. The stored
	// ones are missing or were computed by other rules.
	Rebaseline bool
	// Drifted is true if the reason for the action is a changed configuration.
	Drifted bool

	// Unrequested is true if no person requested the action, for example a stop because of a
	// changed configuration, age, idle time or pool size. The caller must observe the session
	// again before it acts, because a person may have attached meanwhile.
	Unrequested bool

	// Postponed is true if a changed configuration requires a stop that waits until it interrupts
	// no work. Observed.Apply stops the agent at once.
	Postponed bool
	// Ask is the text of a question to a person: whether to do the postponed stop now. Empty: no
	// question.
	Ask string

	// StalledSince is the time of the last sign of progress in the agent's turn, if that is longer
	// ago than the stall timeout. Zero: the agent is not stalled.
	StalledSince time.Time

	// StartInterrupted is true if the start of the instance was interrupted. A stop then counts as
	// a failed start; an adoption leaves some steps of the start undone.
	StartInterrupted bool

	// SelfEnded is true if the instance reported its own exit. The stop only removes what is left
	// of it, and counts as an exit by itself.
	SelfEnded bool

	// Drain is the drain to store for VerbDrain; zero for any other verb.
	Drain session.Drain
	// Hold is the hold to store before the stop, so that the session sleeps afterwards. Zero: no
	// new hold.
	Hold session.Hold
	// ReleaseHold asks the caller to delete the stored hold.
	ReleaseHold bool
}

// Key returns the key of the session's record.
func (a *Action) Key() session.Key { return session.Key{Provider: a.Provider, Session: a.Session} }
