package workers

import (
	"cmp"
	"time"

	"gascity/internal/domain/plan"
)

const (
	// defaultWithin is how long a compaction may take by default. After that the lock is released,
	// even if the worker reported no result.
	defaultWithin = 5 * time.Minute
	// minInterval is the shortest time between the starts of two compactions, so that a compaction
	// that frees nothing is not repeated in every turn.
	minInterval = 10 * time.Minute
)

// compactionState is the compaction state of one instance. It is stored with the session, so that a
// later controller continues the action. In the zero value no action is running and no warning was
// given.
type compactionState struct {
	Since time.Time `json:"since,omitzero"`  // when the running action started; zero: none is running
	Until time.Time `json:"until,omitzero"`  // when the running action is given up
	Epoch int       `json:"epoch,omitempty"` // epoch of the conversation when the action started
	// Leaves is true for a hand-over and false for a compaction.
	Leaves bool      `json:"leaves,omitempty"`
	Tried  time.Time `json:"tried,omitzero"` // when the last compaction started
	Warned bool      `json:"warned,omitempty"`
}

// IsActive reports whether a compaction or a hand-over is under way.
func (l compactionState) IsActive() bool { return !l.Since.IsZero() }

// compactionInput is the input of [compactionState.Next]: what gc knows about an instance.
type compactionInput struct {
	Usage  *float64 // used fraction of the context window; nil: unknown
	Idle   bool     // the agent is between two turns, and no message is being sent to it
	Offers bool     // the worker compacts on request
	Ends   bool     // the instance is about to stop or to restart
	Done   bool     // the running action has finished, with or without success
	Epoch  int      // number of compactions and new conversations so far
}

// compactionAct is the action that [compactionState.Next] asks its caller to carry out.
type compactionAct string

// The actions.
const (
	actNothing  compactionAct = ""
	actWarn     compactionAct = "warn"
	actCompact  compactionAct = "compact"
	actHandOff  compactionAct = "hand-off"
	actFinished compactionAct = "compacted" // the running action has finished
	actOverdue  compactionAct = "overdue"   // no result was reported in time
)

// Next decides what to do about the context of an instance. It returns the next state, the action
// that the caller must carry out, and the time of the next check if nothing changes; zero: no check
// is needed.
func (l compactionState) Next(r plan.ContextPolicy, s compactionInput, now time.Time) (compactionState, compactionAct, time.Time) {
	within := cmp.Or(r.Within, defaultWithin)
	l = l.adjusted(within, now)
	switch {
	case l.IsActive() && s.Done:
		l.Since, l.Until, l.Leaves = time.Time{}, time.Time{}, false
		return l, actFinished, time.Time{}
	case l.IsActive() && !now.Before(l.Until):
		l.Since, l.Until, l.Leaves = time.Time{}, time.Time{}, false
		return l, actOverdue, time.Time{}
	case l.IsActive():
		return l, actNothing, l.Until
	case s.Usage == nil:
		return l, actNothing, time.Time{}
	}
	full := func(at float64) bool { return at > 0 && *s.Usage >= at }
	if s.Idle && !s.Ends {
		act, at := actNothing, r.CompactAt
		switch due := l.Tried.Add(minInterval); {
		case full(at) && s.Offers && (l.Tried.IsZero() || !now.Before(due)):
			act = actCompact
		case full(r.HandoffAt):
			act = actHandOff
		case full(at) && s.Offers:
			return l, actNothing, due
		}
		if act != actNothing {
			return l.started(within, s, act, now), act, now.Add(within)
		}
	}
	switch full(r.WarnAt) {
	case l.Warned:
		return l, actNothing, time.Time{}
	case true:
		l.Warned = true
		return l, actWarn, time.Time{}
	}
	l.Warned = false
	return l, actNothing, time.Time{}
}

// adjusted returns the state with its times corrected if the clock was set back: Tried is then not
// in the future, and Until is not later than a full time limit from now.
func (l compactionState) adjusted(within time.Duration, now time.Time) compactionState {
	if l.Tried.After(now) {
		l.Tried = now
	}
	if limit := now.Add(within); l.IsActive() && l.Until.After(limit) {
		l.Until = limit
	}
	return l
}

// started returns the state in which the action act (compaction or hand-over) is running since now.
func (l compactionState) started(within time.Duration, s compactionInput, act compactionAct, now time.Time) compactionState {
	l.Since, l.Until, l.Leaves, l.Epoch = now, now.Add(within), act == actHandOff, s.Epoch
	if act == actCompact {
		l.Tried = now
	}
	return l
}
