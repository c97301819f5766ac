// Package session defines the stored record of each session, its states, the fusion of
// activity evidence, and the interfaces of the stores.
//
// The key of a record is the session's name, which depends on the agent's name and not on the
// instance: failures accumulate in it however often the agent is started. A record never proves
// that a session runs; only a fresh observation does.
//
// # Runs
//
// A run is an instance as the worker API sees it. It has an ID and a token ([RunID], [WorkerToken]),
// access rights of callers ([RunCaller]), the reports of its worker ([RunHistory]) and the messages
// for its worker ([Mailbox]).
package session

import (
	"slices"
	"time"

	"gascity/runtime"
)

// Record is the stored state of a session.
type Record struct {
	Session  string `json:"session"` // the session's name; with Provider, the record's key
	Provider string `json:"provider"`
	Agent    string `json:"agent,omitempty"` // the agent's qualified name

	// State is the lifecycle, from the last decision of plan.Diff; only [Record.SetState] changes it.
	State State `json:"state,omitempty"`
	// StateSince is when the state last changed.
	StateSince time.Time `json:"state_since,omitzero"`

	// The current instance, or the last one.
	Epoch     uint64       `json:"epoch,omitempty"`    // number of the instance: increased and saved before each start
	Token     string       `json:"-"`                  // its instance token: a secret, never stored and never shown
	Instance  string       `json:"instance,omitempty"` // its public name: [PublicInstance] of Token
	StartedAt time.Time    `json:"started_at,omitzero"`
	Stored    Fingerprints `json:"stored,omitzero"` // the fingerprints that it was started with
	Running   bool         `json:"running,omitempty"`
	// Start is the progress of its start. It is saved before the start begins.
	Start   StartPhase    `json:"start,omitempty"`
	Exit    *runtime.Exit `json:"exit,omitempty"`        // how it exited; nil while it runs, or if unknown
	Screen  string        `json:"last_screen,omitempty"` // its last screen
	Warning string        `json:"warning,omitempty"`     // what its start did not complete
	// ProgramMissing is the error if the agent's program was not found before a start that succeeded. It explains an
	// immediate exit.
	ProgramMissing string `json:"program_missing,omitempty"`

	// Conversation is the agent's current or last conversation with its model provider.
	Conversation Conversation `json:"conversation,omitzero"`
	// Former describes how the last instance that ended did so; nil if none has ended.
	Former *EndRecord `json:"former,omitempty"` // replaced, never changed in place

	// The failures and restarts of the session.
	Failures []time.Time `json:"failures,omitempty"` // times of failed starts and of exits that were not requested, oldest first
	Streak   int         `json:"streak,omitempty"`   // consecutive failures without a stable run between them
	NextAt   time.Time   `json:"next_at,omitzero"`   // no start before this
	Restarts int         `json:"restarts,omitempty"` // starts after the first that were not requested
	Fault    string      `json:"fault,omitempty"`    // text of the last failure
	Lost     bool        `json:"lost,omitempty"`     // the last instance disappeared and its exit is unknown

	// Requests in addition to the configuration.
	Hold  Hold      `json:"hold,omitzero"`
	Drain Drain     `json:"drain,omitzero"`
	Renew time.Time `json:"renew,omitzero"` // when the agent requested its restart at the next turn boundary; zero: it did not

	// Obstacle is what prevents the agent from making progress. A usage limit also delays starts.
	Obstacle Obstacle `json:"obstacle,omitzero"`

	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// StartPhase is the progress of an instance's start.
type StartPhase string

// The phases of a start.
const (
	StartDone StartPhase = ""     // complete, or the instance has ended
	StartOpen StartPhase = "open" // begun, not known to be complete
	StartCut  StartPhase = "cut"  // interrupted by the exit of its controller and counted as a failure; the instance must be stopped
)

// Hold prevents a configured session from running.
type Hold struct {
	Kind   HoldKind  `json:"kind,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"` // when it is expected to end by itself, for people; zero: unknown
}

// HoldKind is the kind of a hold. It determines how the hold ends.
type HoldKind string

// The kinds of holds. The empty kind means no hold.
const (
	HoldSleep   HoldKind = "sleep"   // until it is woken by a person, a prompt or a dependent session
	HoldSuspend HoldKind = "suspend" // until it is resumed by hand
	HoldBudget  HoldKind = "budget"  // until its budget allows it again
)

// Drain is a request to the running instance to finish its work. It applies to one instance only.
type Drain struct {
	Epoch    uint64    `json:"epoch,omitempty"` // of the instance; zero: no drain
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"` // when the instance is stopped anyway
	Acked    time.Time `json:"acked,omitzero"`    // when the agent reported that it has finished its work
	Then     HoldKind  `json:"then,omitempty"`    // the hold that follows after the stop
}

// EndRecord describes how an instance ended.
type EndRecord struct {
	Epoch  uint64        `json:"epoch"`
	At     time.Time     `json:"at"`
	Exit   *runtime.Exit `json:"exit,omitempty"`   // nil: unknown, or a stop was requested
	Reason string        `json:"reason,omitempty"` // text for people
	Screen string        `json:"screen,omitempty"` // its last screen
}

// Conversation is a conversation of an agent with its model provider, which can be resumed.
type Conversation struct {
	ID    string    `json:"id,omitempty"`  // empty: unknown
	Dir   string    `json:"dir,omitempty"` // the working directory that it belongs to
	Mode  string    `json:"mode,omitempty"`
	Rungs int       `json:"rungs,omitempty"` // failed rungs of the resume ladder since the agent was last in the conversation
	At    time.Time `json:"at,omitzero"`     // when the id became known

	Begun   bool          `json:"begun,omitempty"`   // an agent has been ready in this conversation
	Rung    Rung          `json:"rung,omitempty"`    // how the current instance was started into it; empty: the agent reported it
	Failure ResumeFailure `json:"failure,omitempty"` // of the last attempt to resume it
	Closed  bool          `json:"closed,omitempty"`  // a person requested a new conversation, so this one is not resumed
	// Former is the conversation that this one replaces because it could not be resumed. It is
	// tried again as long as this one has not begun.
	Former *Abandoned `json:"former,omitempty"` // replaced, never changed in place
}

// Abandoned is a conversation that could not be resumed.
type Abandoned struct {
	ID      string        `json:"id"`
	Dir     string        `json:"dir,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Rungs   int           `json:"rungs,omitempty"`
	At      time.Time     `json:"at,omitzero"`
	Failure ResumeFailure `json:"failure"`
}

// Fingerprints are the fingerprints of package runtime at the time of a start.
type Fingerprints struct {
	Core      string            `json:"core,omitempty"`
	Provision string            `json:"provision,omitempty"`
	Launch    string            `json:"launch,omitempty"`
	Live      string            `json:"live,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"` // runtime.FingerprintBreakdown
}

// Key identifies a record. The same session name under another runtime provider is another
// session.
type Key struct{ Provider, Session string }

// Key returns the record's key.
func (r *Record) Key() Key { return Key{r.Provider, r.Session} }

// SetState sets the state and, if it changes, its time, and reports whether it changed. StateUnknown
// changes nothing: the last known state stays.
func (r *Record) SetState(to State, at time.Time) (changed bool) {
	if to == StateUnknown || to == r.State {
		return false
	}
	r.State, r.StateSince = to, at
	return true
}

// IsDraining reports whether the current instance was asked to finish its work. A drain of another
// instance does not count.
func (r *Record) IsDraining() bool { return r.Drain.Epoch != 0 && r.Drain.Epoch == r.Epoch }

// AddFailure adds a failure at the given time. It removes failures that are older than keep; the
// streak continues.
func (r *Record) AddFailure(at time.Time, keep time.Duration, fault string) {
	kept := slices.DeleteFunc(slices.Clone(r.Failures), func(f time.Time) bool { return at.Sub(f) >= keep })
	r.Failures = append(kept, at) //nolint:gocritic // kept is a copy
	r.Streak++
	r.Fault = fault
}

// ResetFailures removes all failures, so that the next start is not delayed.
func (r *Record) ResetFailures() {
	r.Failures, r.Streak, r.NextAt, r.Fault = nil, 0, time.Time{}, ""
}

// ShiftFailures shifts the failures and the delay after them by gap, the amount by which the clock
// was changed.
func (r *Record) ShiftFailures(gap time.Duration) {
	if !r.NextAt.IsZero() {
		r.NextAt = r.NextAt.Add(gap)
	}
	failures := make([]time.Time, 0, len(r.Failures))
	for _, at := range r.Failures {
		failures = append(failures, at.Add(gap))
	}
	r.Failures = failures
}

// CopyAgentState moves the state that belongs to the agent from the record previous, of another
// runtime provider or name, to r: the hold, the obstacle, and the number and conversation of the
// last instance. A hold or obstacle that r has itself is kept. A moved hold or obstacle is removed
// from previous. No instance of r may run. CopyAgentState reports whether r changed.
func (r *Record) CopyAgentState(previous *Record) (changed bool) {
	if r.Hold.Kind == "" && previous.Hold.Kind != "" {
		r.Hold, previous.Hold, changed = previous.Hold, Hold{}, true
	}
	if r.Obstacle == (Obstacle{}) && previous.Obstacle != (Obstacle{}) {
		r.Obstacle, previous.Obstacle, changed = previous.Obstacle, Obstacle{}, true
	}
	if r.Epoch < previous.Epoch {
		r.Epoch, r.Conversation, changed = previous.Epoch, previous.Conversation, true
	}
	return changed
}
