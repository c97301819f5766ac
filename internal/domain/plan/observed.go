package plan

import (
	"cmp"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Observed is the known state of one session: its record, a current observation, and what the
// controller knows besides.
type Observed struct {
	// Record has the session's names, its last instance, its failures, and the requests about it.
	session.Record

	Owner Owner

	// UnknownReason states why the session or its runtime provider cannot be observed. If it is
	// not empty, ignore Observation.
	UnknownReason string
	Observation   runtime.Observation

	Managed          bool // the controller has started or adopted this instance
	StartInterrupted bool // its start was interrupted because the controller that began it exited
	CanRelaunch      bool // the runtime provider can start a new agent process in the existing session

	Activity session.Activity // the agent's activity by all evidence; the zero value is unknown
	Pending  bool             // a question for a person is open
	Progress Progress         // in the current turn
	Queued   int              // number of prompts in the agent's queue
	// PromptAt is when the newest queued prompt was accepted. A sleeping session is woken only by
	// a prompt that is newer than its hold. Zero: by any prompt.
	PromptAt time.Time
	// IdleSince is the earliest time from which idle time counts: the last time a terminal
	// detached, a prompt was delivered or the controller stopped. Zero: only Observation and
	// Activity count.
	IdleSince time.Time
	// Ended is the exit that the agent's worker or hook reported; nil: none was reported. The
	// runtime provider may still show a running process.
	Ended *runtime.End

	// WakeReason states why a sleeping session, or a surplus pool member, must run, for example
	// "it was asked for". Empty: nothing wakes it. A queued prompt wakes a session without a
	// WakeReason.
	WakeReason string

	Working Verb  // the action in progress; empty if none
	Order   Order // what a person requested

	StopAt         time.Time // no stop before this: the last one failed
	DriftedAt      time.Time // when the configuration began to differ
	PostponedSince time.Time // when a stop for a changed configuration began to wait; zero: none waits
	Apply          bool      // a person requested to apply the configuration now, even if the agent is busy
	Disrupted      bool      // stopped or relaunched because of a changed configuration, and not running again yet
}

// Progress describes the progress in an agent's turn.
type Progress struct {
	At     time.Time // when the newest sign was noticed; zero: the agent was not read yet
	Sign   string    // text of that sign
	Tool   string    // the running tool, as reported by the agent; empty: no tool is known to run
	Screen bool      // the screen text is compared; output alone is not a sign
	// Reported is true if an observation has reported progress. Otherwise only the activity times
	// count.
	Reported bool
	// Interrupted is when the turn was last interrupted because of a stall.
	Interrupted time.Time
}

// Owner states which city a session belongs to.
type Owner uint8

// The owners. An unconfigured session is stopped only if its owner is certainly this city.
const (
	OwnerUnknown Owner = iota
	OwnerThisCity
	OwnerOther
)

// Order is what a person requested in addition to the configuration. It is carried out even while
// a terminal is attached or the agent is busy.
type Order uint8

// The orders.
const (
	OrderNone    Order = iota
	OrderRestart       // stop it if it runs, then start it
	OrderKill          // stop it; the configuration starts it again
)

// exists reports whether the session exists or its agent runs without it.
func (o *Observed) exists() bool { return o.Observation.Session == runtime.Alive || o.orphaned() }

// running reports whether the session exists and its agent has not been observed to exit.
func (o *Observed) running() bool {
	return o.Observation.Session == runtime.Alive && o.Observation.Agent != runtime.Dead
}

// orphaned reports whether the agent still runs although its session is gone. It cannot be reached
// any more, but it may still work.
func (o *Observed) orphaned() bool {
	return o.Observation.Session == runtime.Dead && o.Observation.Agent == runtime.Alive
}

// unattributed reports whether the session may exist but its owner is not known yet, because it was
// only listed or its start has only begun.
func (o *Observed) unattributed() bool {
	return o.Owner == OwnerUnknown && (o.Agent == "" || o.Epoch != 0) && (o.unknown() != "" || o.Working != "")
}

// unknown returns why the state of the session is unknown, so that gc must not act on it; empty if
// its state is known.
func (o *Observed) unknown() string {
	switch {
	case o.UnknownReason != "":
		return o.UnknownReason
	case o.Observation.Session == runtime.Unknown:
		return "it is not known whether the session exists"
	case o.Observation.Session == runtime.Dead && o.Observation.Agent == runtime.Unknown:
		return "the session does not exist any more, and it is not known whether its agent still runs"
	}
	return ""
}

// finished reports whether the session is not running and its agent exited with status 0.
func (o *Observed) finished() bool {
	exit := cmp.Or(o.Exit, o.Observation.Exit)
	return !o.running() && exit != nil && exit.Code == 0 && exit.Signal == ""
}

// lastEnd returns a text that describes how the last instance ended.
func (o *Observed) lastEnd() string {
	switch {
	case o.Fault != "":
		return o.Fault
	case o.Observation.Exit != nil:
		return o.Observation.Exit.String()
	case o.Exit != nil:
		return o.Exit.String()
	case o.Lost:
		return "the session disappeared and its exit is unknown"
	}
	return "it does not run"
}
