// Package session holds what the controller remembers of each session, and the
// store that keeps it.
//
// A record is keyed by the session's name, which follows from the agent's
// identity and not from an attempt: failures accrue in it however often the
// agent is started. It is knowledge, never evidence: whether a session runs is
// known only from a fresh observation.
package session

import (
	"slices"
	"time"

	"gascity/runtime"
)

// Record is everything that outlives one observation of a session.
type Record struct {
	Session  string `json:"session"` // the session's name, the record's key together with Provider
	Provider string `json:"provider"`
	Agent    string `json:"agent,omitempty"` // the agent's qualified name

	// State is the lifecycle, moved by [Next] alone.
	State State `json:"state,omitempty"`
	// StateSince is when it last moved.
	StateSince time.Time `json:"state_since,omitzero"`

	// The instance that runs, or the last one that did.
	Epoch     uint64       `json:"epoch,omitempty"`    // counts instances: raised and saved before each start
	Token     string       `json:"-"`                  // its instance token: a capability, never stored and never shown
	Handle    string       `json:"-"`                  // what runtime.Recover needs; holds the token
	Instance  string       `json:"instance,omitempty"` // its public name: [PublicInstance] of Token
	StartedAt time.Time    `json:"started_at,omitzero"`
	Stored    Fingerprints `json:"stored,omitzero"` // what it was started with
	Running   bool         `json:"running,omitempty"`
	// Start is how far its start has come. It is saved before the start begins.
	Start   StartPhase    `json:"start,omitempty"`
	Exit    *runtime.Exit `json:"exit,omitempty"`        // how it ended; nil while it runs, or if that is unknown
	Screen  string        `json:"last_screen,omitempty"` // what it left on its screen
	Warning string        `json:"warning,omitempty"`     // what its start left open

	// Conversation is the model provider's conversation that the agent is in, or was last.
	Conversation Conversation `json:"conversation,omitzero"`
	// Former is how the instance before the present one ended, or the present
	// one if it is over; nil if none has.
	Former *EndRecord `json:"former,omitempty"` // replaced and never changed

	// What the identity went through.
	Failures []time.Time `json:"failures,omitempty"` // starts that failed and ends without a request, oldest first
	Streak   int         `json:"streak,omitempty"`   // failures without a stable life between them
	NextAt   time.Time   `json:"next_at,omitzero"`   // no start before this
	Restarts int         `json:"restarts,omitempty"` // starts after the first, without a request
	Fault    string      `json:"fault,omitempty"`    // the last failure in words
	Lost     bool        `json:"lost,omitempty"`     // the last instance vanished without a trace

	// What somebody asked for, beyond the configuration.
	Hold  Hold      `json:"hold,omitzero"`
	Drain Drain     `json:"drain,omitzero"`
	Renew time.Time `json:"renew,omitzero"` // since when a restart at the next turn boundary is asked for; by the agent itself

	// Obstacle is what keeps the agent from making progress. A usage limit also delays starts.
	Obstacle Obstacle `json:"obstacle,omitzero"`

	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// StartPhase is how far the start of an instance has come.
type StartPhase string

// The phases of a start.
const (
	StartDone StartPhase = ""     // complete, or over
	StartOpen StartPhase = "open" // begun, and not known to be complete
	StartCut  StartPhase = "cut"  // cut off by the end of its controller and counted as a failure; the instance is to be ended
)

// Hold keeps a session from running although it is configured.
type Hold struct {
	Kind   HoldKind  `json:"kind,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"` // when it is expected to end by itself, for people; zero: not known
}

// HoldKind is how a hold ends.
type HoldKind string

// The holds. No hold is the empty kind.
const (
	HoldSleep   HoldKind = "sleep"   // until it is woken: by hand, by a prompt, by demand
	HoldSuspend HoldKind = "suspend" // until it is resumed by hand
	HoldBudget  HoldKind = "budget"  // until its budget allows it again
)

// Drain asks the running instance to wind down. It belongs to one instance
// and means nothing to the next.
type Drain struct {
	Epoch    uint64    `json:"epoch,omitempty"` // the instance's; zero: there is no drain
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"` // it is stopped then
	Acked    time.Time `json:"acked,omitzero"`    // when the agent said that it has wound down
	Then     HoldKind  `json:"then,omitempty"`    // the hold that follows its end
}

// EndRecord is how an instance ended.
type EndRecord struct {
	Epoch  uint64        `json:"epoch"`
	At     time.Time     `json:"at"`
	Exit   *runtime.Exit `json:"exit,omitempty"`   // nil: unknown, or its end was ordered
	Reason string        `json:"reason,omitempty"` // in words
	Screen string        `json:"screen,omitempty"` // what it left on its screen
}

// Conversation is the model provider's own session, by which an agent can be resumed.
type Conversation struct {
	ID    string    `json:"id,omitempty"`  // empty: not known
	Dir   string    `json:"dir,omitempty"` // the working directory that it belongs to
	Mode  string    `json:"mode,omitempty"`
	Rungs int       `json:"rungs,omitempty"` // rungs of the resume ladder that failed since it last ran
	At    time.Time `json:"at,omitzero"`     // when the id was learned

	Begun   bool          `json:"begun,omitempty"`   // an agent was ready in it
	Rung    Rung          `json:"rung,omitempty"`    // how the present instance comes to it; empty: it was reported
	Failure ResumeFailure `json:"failure,omitempty"` // of the last attempt to resume it
	Closed  bool          `json:"closed,omitempty"`  // a person asked for a new one: it is not resumed
	// Former is the conversation that could not be resumed and in whose place this
	// one is. It is tried again as long as this one has not begun.
	Former *Abandoned `json:"former,omitempty"` // replaced and never changed
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

// Fingerprints are those of package runtime at the time of a start.
type Fingerprints struct {
	Core      string            `json:"core,omitempty"`
	Provision string            `json:"provision,omitempty"`
	Launch    string            `json:"launch,omitempty"`
	Live      string            `json:"live,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"` // runtime.FingerprintBreakdown
}

// Key names a record: the same session name under another provider is another
// place, and another session.
type Key struct{ Provider, Session string }

// Key returns the record's key.
func (r *Record) Key() Key { return Key{r.Provider, r.Session} }

// AddFailure records a failure at the given time. Failures that are older than keep are
// forgotten; the streak goes on.
func (r *Record) AddFailure(at time.Time, keep time.Duration, fault string) {
	kept := slices.DeleteFunc(slices.Clone(r.Failures), func(f time.Time) bool { return at.Sub(f) >= keep })
	r.Failures = append(kept, at) //nolint:gocritic // kept is a copy
	r.Streak++
	r.Fault = fault
}

// ResetFailures forgets every failure: the next start is at once.
func (r *Record) ResetFailures() {
	r.Failures, r.Streak, r.NextAt, r.Fault = nil, 0, time.Time{}, ""
}

// ShiftFailures moves the failures, and the pause after them, by the time by which the
// clock was set.
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

// CopyAgentState takes over what belongs to the agent and not to the place where previous ran,
// as far as the record has none of its own: what holds it, the number of its last
// instance and its conversation, its obstacle. What holds it holds it at one
// place: previous is rid of that. Nothing of r runs. It reports whether r has changed.
func (r *Record) CopyAgentState(former *Record) (changed bool) {
	if r.Hold.Kind == "" && former.Hold.Kind != "" {
		r.Hold, former.Hold, changed = former.Hold, Hold{}, true
	}
	if r.Obstacle == (Obstacle{}) && former.Obstacle != (Obstacle{}) {
		r.Obstacle, former.Obstacle, changed = former.Obstacle, Obstacle{}, true
	}
	if r.Epoch < former.Epoch {
		r.Epoch, r.Conversation, changed = former.Epoch, former.Conversation, true
	}
	return changed
}
