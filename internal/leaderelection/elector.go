// Package leaderelection makes sure that only one controller of a city works at a time. The controllers share a record. Its
// holder renews it; another controller that sees it unchanged for its whole duration may acquire it. The lease only makes the
// change of controllers fast. The lock of the city's store is the final protection against two controllers.
package leaderelection

import "time"

// Record is the stored state of the lease.
type Record struct {
	Holder   string // name of the holder; empty: none
	Duration time.Duration
	Acquired time.Time // by the clock of the holder, for display only
	Renewed  time.Time // by the clock of the holder, for display only
	Changes  int       // number of times that the holder changed
	Version  string    // version in the store; empty: there is no record
}

// Terms are the time limits of a lease. Renew and Retry must be well below Deadline. Deadline must be below Duration by more
// than the clocks of two hosts can drift apart in that time.
type Terms struct {
	Duration time.Duration // another candidate may acquire a lease that was not changed for this time
	Deadline time.Duration // a holder that could not renew for this time has lost the lease
	Renew    time.Duration // time between two renewals
	Retry    time.Duration // time between two attempts of a candidate that waits, or of a holder that could not renew
}

// Usual returns the default terms of controllers: a successor acquires the lease after at most 8.5 seconds.
func Usual() Terms {
	return Terms{Duration: 8 * time.Second, Deadline: 5 * time.Second, Renew: 1500 * time.Millisecond, Retry: time.Second / 2}
}

// Elector makes the decisions of one candidate. It never compares clocks of different processes: all its times are of this
// process. It is not safe for concurrent use.
type Elector struct {
	name  string
	terms Terms

	seen   Record
	seenAt time.Time // when this process first saw that version
	sent   time.Time // when the last successful write of this candidate was sent; zero: it does not hold the lease
}

// NewElector returns the elector of the candidate me. No other candidate may ever have the same name.
func NewElector(me string, terms Terms) *Elector { return &Elector{name: me, terms: terms} }

// See processes a record that was read at the given time.
func (e *Elector) See(r Record, at time.Time) {
	if r.Version != e.seen.Version || e.seenAt.IsZero() {
		e.seen, e.seenAt = r, at
	}
	if r.Holder != e.name {
		e.sent = time.Time{}
	}
}

// Claim returns the record to write. It reports false if this candidate may not acquire the lease now.
func (e *Elector) Claim(now time.Time) (Record, bool) {
	if e.seenAt.IsZero() {
		return Record{}, false // the holder is not known yet
	}
	r := e.seen
	if mine := r.Holder == e.name; !mine {
		if r.Holder != "" && now.Before(e.seenAt.Add(r.Duration)) {
			return Record{}, false
		}
		r.Acquired = now
		if r.Version != "" {
			r.Changes++
		}
	}
	r.Holder, r.Duration, r.Renewed = e.name, e.terms.Duration, now
	return r, true
}

// Granted records that r was written by a request that was sent at the given time.
func (e *Elector) Granted(r Record, sent time.Time) {
	e.seen, e.seenAt, e.sent = r, sent, sent
}

// ValidUntil returns the time until which this candidate holds the lease; zero if it does not hold it. The candidate must have
// stopped its work at that time.
func (e *Elector) ValidUntil() time.Time {
	if e.sent.IsZero() {
		return time.Time{}
	}
	return e.sent.Add(e.terms.Deadline)
}

// Release returns the record that releases the lease.
func (e *Elector) Release() Record {
	r := e.seen
	r.Holder, e.sent = "", time.Time{}
	return r
}
