package plan

import (
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Observed is what is known of one session: a fresh look and the memory of what
// happened to its identity.
type Observed struct {
	Name     string // the session's name
	Provider string // the runtime provider's selection
	// Agent is the agent that the session was started for, by its notes or, as long
	// as they were not read, by the record. Empty: not known.
	Agent string
	Owner Owner

	// UnknownReason says why nothing is known of the session or of its whole provider.
	// If it is not empty, Seen is worthless.
	UnknownReason string
	Observation   runtime.Observation

	Managed          bool   // the controller has started or adopted this instance
	StartInterrupted bool   // its start was cut off by the end of the controller that began it
	Stored           Stored // what the instance was started with
	CanRelaunch      bool   // the driver has warm boxes

	Epoch    uint64           // counts the instances; that of the one that runs, or of the last one
	Activity session.Activity // what the agent does, by all evidence; the zero value is unknown
	Pending  bool             // a question for a person is open
	Progress Progress         // in the present turn
	Queued   int              // prompts that wait for the agent
	// PromptAt is when the newest prompt that waits was accepted. A session that is
	// held to sleep is woken by one that is newer than the hold alone; zero: by any.
	PromptAt time.Time
	// AgeFrom is when the instance started; zero if that is not known.
	AgeFrom time.Time
	// IdleSince is the earliest time from which idleness counts: when a terminal
	// last left, a prompt was last delivered, the controller last ended. Zero adds
	// nothing to Seen and Activity.
	IdleSince time.Time
	Warning   string // what the last start left open
	// Ended is the word of the agent's own side that the instance has ended; nil: it
	// has not said so. Its place may show otherwise.
	Ended *runtime.End

	// What somebody asked for, as the record keeps it.
	Hold               session.Hold
	Drain              session.Drain
	Obstacle           session.Obstacle
	RestartRequestedAt time.Time // since when a restart at the next turn boundary is asked for
	// WakeReason says why a session that sleeps, or a member that its pool does not
	// want, is to run: "it was asked for", "somebody attaches". Empty: nothing
	// wakes it. Queued prompts need no Wake.
	WakeReason string

	Working Verb  // an act that is under way; empty if none
	Order   Order // what a person asked for

	Failures       []time.Time   // failed starts and ends without a request
	Fault          string        // the last failure in words
	Exit           *runtime.Exit // how the last instance ended
	Lost           bool          // the last instance vanished without a trace
	NextAt         time.Time     // no start before this
	StopAt         time.Time     // no stop before this: the last one failed
	DriftedAt      time.Time     // since when the configuration differs
	PostponedSince time.Time     // since when a stop that the configuration asks for waits; zero: none does
	Apply          bool          // a person wants what the configuration asks for now, whatever the agent does
	Disrupted      bool          // ended for its changed configuration, and not running again yet
}

// Stored are the fingerprints that an instance was started with. Empty ones
// are not known.
type Stored struct {
	Core, Provision, Launch, Live string
	Fields                        map[string]string
}

// Progress is what is known of the progress in an agent's turn.
type Progress struct {
	At     time.Time // when the newest sign was noticed; zero: the agent was not read yet
	Sign   string    // that sign, for people
	Tool   string    // the tool that runs, by the agent's report; empty: none is known to
	Screen bool      // output alone is no sign: what is printed is compared
	// Reported: a reading has reported progress. Without it, only what is seen of activity
	// counts.
	Reported bool
	// Interrupted is when the turn was last interrupted because of a stall.
	Interrupted time.Time
}

// Owner says whose a session is.
type Owner uint8

// The owners. Only a session that is certainly this city's is ever stopped for
// not being configured.
const (
	OwnerUnknown Owner = iota
	OwnerThisCity
	OwnerOther
)

// Order is what a person asked for beside the configuration. It does not wait
// for attached terminals or busy agents.
type Order uint8

// The orders.
const (
	OrderNone    Order = iota
	OrderRestart       // end it if it runs, start it in any case
	OrderKill          // end it; it comes back by itself
)

// exists reports whether anything of the session is there: an agent or a dead
// session.
func (o *Observed) exists() bool { return o.Observation.Session == runtime.Alive || o.orphaned() }

// running reports whether the session is there and its agent has not been seen
// to end.
func (o *Observed) running() bool {
	return o.Observation.Session == runtime.Alive && o.Observation.Agent != runtime.Dead
}

// orphaned reports whether the agent lives on without its session: it cannot be
// reached any more, but it may still work.
func (o *Observed) orphaned() bool {
	return o.Observation.Session == runtime.Dead && o.Observation.Agent == runtime.Alive
}

// unattributed reports whether the session may exist but its owner has not been
// read yet: it was listed, or a start of it was begun.
func (o *Observed) unattributed() bool {
	return o.Owner == OwnerUnknown && (o.Agent == "" || o.Epoch != 0) && (o.unknown() != "" || o.Working != "")
}

// unknown returns why nothing may be done, empty if everything needed is known.
func (o *Observed) unknown() string {
	switch {
	case o.UnknownReason != "":
		return o.UnknownReason
	case o.Observation.Session == runtime.Unknown:
		return "it is not known whether the session exists"
	case o.Observation.Session == runtime.Dead && o.Observation.Agent == runtime.Unknown:
		return "the session is gone, and it is not known whether its agent is too"
	}
	return ""
}

// finished reports whether the session ran to a good end.
func (o *Observed) finished() bool {
	exit := o.Exit
	if exit == nil {
		exit = o.Observation.Exit
	}
	return !o.running() && exit != nil && exit.Code == 0 && exit.Signal == ""
}

// lastEnd describes how the last instance ended.
func (o *Observed) lastEnd() string {
	switch {
	case o.Fault != "":
		return o.Fault
	case o.Observation.Exit != nil:
		return o.Observation.Exit.String()
	case o.Exit != nil:
		return o.Exit.String()
	case o.Lost:
		return "it vanished without a trace"
	}
	return "it does not run"
}
