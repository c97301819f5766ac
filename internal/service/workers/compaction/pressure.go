// Package compaction decides what happens to a conversation whose context fills up: its
// people are warned, it is compacted, or handed over to a new one. It is pure. Meanwhile
// its session is locked: it gets no prompts, and nothing restarts it without being asked,
// so that a compaction, a hand-over and a restart exclude each other.
package compaction

import "time"

// Rules are those of one agent. A threshold is a fraction of the context window; zero is
// never.
type Rules struct {
	WarnAt, CompactAt, HandoffAt float64
	// Within is how long a compaction may take; then the lock is free again, whatever the
	// worker says. Zero is 5 minutes.
	Within time.Duration
}

const (
	defaultWithin = 5 * time.Minute
	// again is the least time between two compactions: one that freed nothing is not
	// repeated at every turn.
	again = 10 * time.Minute
)

// State is what is known of one instance's pressure. The zero value is free.
//
// It is kept with the session, so that a later controller goes on where this one was.
type State struct {
	Since time.Time `json:"since,omitzero"`  // of what is under way; zero: nothing is
	Until time.Time `json:"until,omitzero"`  // then it is given up
	Epoch int       `json:"epoch,omitempty"` // of the conversation when it was begun
	// Leaves: the conversation is handed over, else it is compacted.
	Leaves bool      `json:"leaves,omitempty"`
	Tried  time.Time `json:"tried,omitzero"` // when one was last begun
	Warned bool      `json:"warned,omitempty"`
}

// IsActive reports whether a compaction or a hand-over is under way.
func (l State) IsActive() bool { return !l.Since.IsZero() }

// Observation is what is seen of an instance.
type Observation struct {
	Usage  *float64 // nil: not known
	Idle   bool     // it is between two turns, and nothing is on its way to it
	Offers bool     // its worker compacts when it is asked
	Ends   bool     // it is about to end, or to be started again
	Done   bool     // what is under way has ended, well or not
	Epoch  int      // of the conversation: compactions so far
}

// Act is what is to be done.
type Act string

// The acts.
const (
	Nothing Act = ""
	Warn    Act = "warn"
	Compact Act = "compact"
	Handoff Act = "hand-off"
	Freed   Act = "compacted" // what was under way is over
	Overdue Act = "overdue"   // it was not said in time what came of it
)

// Next returns the lock after a look, what is to be done, and when to look again although
// nothing changes; zero: not.
func (l State) Next(r Rules, s Observation, now time.Time) (State, Act, time.Time) {
	l = l.adjusted(r, now)
	switch {
	case l.IsActive() && s.Done:
		l.Since, l.Until, l.Leaves = time.Time{}, time.Time{}, false
		return l, Freed, time.Time{}
	case l.IsActive() && !now.Before(l.Until):
		l.Since, l.Until, l.Leaves = time.Time{}, time.Time{}, false
		return l, Overdue, time.Time{}
	case l.IsActive():
		return l, Nothing, l.Until
	case s.Usage == nil:
		return l, Nothing, time.Time{}
	}
	full := func(at float64) bool { return at > 0 && *s.Usage >= at }
	if s.Idle && !s.Ends {
		act, at := Nothing, r.CompactAt
		switch due := l.Tried.Add(again); {
		case full(at) && s.Offers && (l.Tried.IsZero() || !now.Before(due)):
			act = Compact
		case full(r.HandoffAt):
			act = Handoff
		case full(at) && s.Offers:
			return l, Nothing, due
		}
		if act != Nothing {
			return l.started(r, s, act, now), act, now.Add(r.within())
		}
	}
	switch full(r.WarnAt) {
	case l.Warned:
		return l, Nothing, time.Time{}
	case true:
		l.Warned = true
		return l, Warn, time.Time{}
	}
	l.Warned = false
	return l, Nothing, time.Time{}
}

// adjusted returns the lock of a clock that was set back: nothing was begun in the future, and
// nothing takes longer than it may.
func (l State) adjusted(r Rules, now time.Time) State {
	if l.Tried.After(now) {
		l.Tried = now
	}
	if limit := now.Add(r.within()); l.IsActive() && l.Until.After(limit) {
		l.Until = limit
	}
	return l
}

// started returns the lock with an act under way.
func (l State) started(r Rules, s Observation, act Act, now time.Time) State {
	l.Since, l.Until, l.Leaves, l.Epoch = now, now.Add(r.within()), act == Handoff, s.Epoch
	if act == Compact {
		l.Tried = now
	}
	return l
}

func (r Rules) within() time.Duration {
	if r.Within <= 0 {
		return defaultWithin
	}
	return r.Within
}
