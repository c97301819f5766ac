// Package pressure decides what becomes of a conversation whose context fills up: its
// people are warned, and it is compacted. It is pure. While a conversation is compacted
// its session is locked: it gets no prompts, and nothing restarts it without being asked.
package pressure

import "time"

// Rules are those of one agent. A threshold is a fraction of the context window; zero is
// never.
type Rules struct {
	WarnAt, CompactAt float64
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

// Lock is what is known of one incarnation's pressure. The zero value is free.
type Lock struct {
	Since  time.Time // of the compaction that is under way; zero: none is
	until  time.Time
	tried  time.Time // when one was last begun
	warned bool
}

// Held reports whether a compaction is under way.
func (l Lock) Held() bool { return !l.Since.IsZero() }

// Sight is what is seen of an incarnation.
type Sight struct {
	Usage  *float64 // nil: not known
	Idle   bool     // it is between two turns, and nothing is on its way to it
	Offers bool     // its worker compacts when it is asked
	Ends   bool     // it is about to end, or to be started again
	Done   bool     // the compaction that is under way has ended, well or not
}

// Act is what is to be done.
type Act string

// The acts.
const (
	Nothing Act = ""
	Warn    Act = "warn"
	Compact Act = "compact"
	Freed   Act = "compacted" // the compaction is over
	Overdue Act = "overdue"   // the worker has not said in time what came of it
)

// Next returns the lock after a look, what is to be done, and when to look again although
// nothing changes; zero: not.
func (l Lock) Next(r Rules, s Sight, now time.Time) (Lock, Act, time.Time) {
	switch {
	case l.Held() && s.Done:
		l.Since, l.until = time.Time{}, time.Time{}
		return l, Freed, time.Time{}
	case l.Held() && !now.Before(l.until):
		l.Since, l.until = time.Time{}, time.Time{}
		return l, Overdue, time.Time{}
	case l.Held():
		return l, Nothing, l.until
	case s.Usage == nil:
		return l, Nothing, time.Time{}
	}
	full := func(at float64) bool { return at > 0 && *s.Usage >= at }
	if full(r.CompactAt) && s.Idle && s.Offers && !s.Ends {
		if due := l.tried.Add(again); !l.tried.IsZero() && now.Before(due) {
			return l, Nothing, due
		}
		if r.Within <= 0 {
			r.Within = defaultWithin
		}
		l.Since, l.tried, l.until = now, now, now.Add(r.Within)
		return l, Compact, l.until
	}
	switch full(r.WarnAt) {
	case l.warned:
		return l, Nothing, time.Time{}
	case true:
		l.warned = true
		return l, Warn, time.Time{}
	}
	l.warned = false
	return l, Nothing, time.Time{}
}
