// Package session holds what the controller remembers of each session, and the
// store that keeps it.
//
// A record is keyed by the session's name, which follows from the agent's
// identity and not from an attempt: failures accrue in it however often the
// agent is started. It is knowledge, never evidence: whether a session runs is
// only told by a fresh observation.
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

	// The incarnation that runs, or the last one that did.
	Token     string        `json:"token,omitempty"`  // its instance token: a capability, never shown
	Handle    string        `json:"handle,omitempty"` // what runtime.Recover needs
	StartedAt time.Time     `json:"started_at,omitzero"`
	Stored    Fingerprints  `json:"stored,omitzero"` // what it was started with
	Running   bool          `json:"running,omitempty"`
	Exit      *runtime.Exit `json:"exit,omitempty"`        // how it ended; nil while it runs, or if nobody saw it
	Screen    string        `json:"last_screen,omitempty"` // what it left on its screen

	// What the identity went through.
	Failures []time.Time `json:"failures,omitempty"` // starts that failed and ends that nobody asked for, oldest first
	Streak   int         `json:"streak,omitempty"`   // failures without a stable life between them
	NextAt   time.Time   `json:"next_at,omitzero"`   // no start before this
	Restarts int         `json:"restarts,omitempty"` // starts after the first
	Fault    string      `json:"fault,omitempty"`    // the last failure in words
	Lost     bool        `json:"lost,omitempty"`     // the last incarnation vanished without a trace

	UpdatedAt time.Time `json:"updated_at,omitzero"`
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

// Fail notes a failure at the given time. Failures that are older than keep are
// forgotten; the streak goes on.
func (r *Record) Fail(at time.Time, keep time.Duration, fault string) {
	kept := slices.DeleteFunc(slices.Clone(r.Failures), func(f time.Time) bool { return at.Sub(f) >= keep })
	r.Failures = append(kept, at) //nolint:gocritic // kept is a copy
	r.Streak++
	r.Fault = fault
}

// Forgive forgets every failure: the next start is at once.
func (r *Record) Forgive() {
	r.Failures, r.Streak, r.NextAt, r.Fault = nil, 0, time.Time{}, ""
}
