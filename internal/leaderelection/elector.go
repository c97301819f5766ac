// Package leaderelection lets one of several controllers of a city work at a time, by a record
// that they keep together: who has it renews it, and who sees it unchanged for its whole
// duration may take it. It is the way to a quick successor and no proof: the lock of the
// city's store stays the last word.
package leaderelection

import "time"

// Record is a lease as it is kept.
type Record struct {
	Holder   string // empty: none
	Duration time.Duration
	Acquired time.Time // by the holder's clock, for people
	Renewed  time.Time // the same
	Changes  int       // how often it went to another holder
	Version  string    // of the store; empty: there is no record
}

// Terms are the times of a lease. Renew and Retry are well below Deadline, and that is
// below Duration by more than clocks of different hosts run apart in that time.
type Terms struct {
	Duration time.Duration // after this time without a change it may be taken
	Deadline time.Duration // after this time without a renewal its holder is none
	Renew    time.Duration // between two renewals
	Retry    time.Duration // between two looks of who waits, and of who could not renew
}

// Usual returns the terms of controllers: a successor has the lease after 8.5 seconds at most.
func Usual() Terms {
	return Terms{Duration: 8 * time.Second, Deadline: 5 * time.Second, Renew: 1500 * time.Millisecond, Retry: time.Second / 2}
}

// Elector decides for one candidate. It compares no clock of one process with that of
// another: times are those of this process alone. Not safe for concurrent use.
type Elector struct {
	name  string
	terms Terms

	seen   Record
	seenAt time.Time // when that version was first known here
	sent   time.Time // when the last renewal that was granted was sent; zero: none holds
}

// NewElector returns the decisions of a candidate, whose name is unique for ever.
func NewElector(me string, terms Terms) *Elector { return &Elector{name: me, terms: terms} }

// See takes the record that an answer had, at the time of the answer.
func (e *Elector) See(r Record, at time.Time) {
	if r.Version != e.seen.Version || e.seenAt.IsZero() {
		e.seen, e.seenAt = r, at
	}
	if r.Holder != e.name {
		e.sent = time.Time{}
	}
}

// Claim returns the record to write, if this candidate may have the lease now or has it.
func (e *Elector) Claim(now time.Time) (Record, bool) {
	if e.seenAt.IsZero() {
		return Record{}, false // its owner is not known yet
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

// Granted records that a claim was written, and when it was sent.
func (e *Elector) Granted(r Record, sent time.Time) {
	e.seen, e.seenAt, e.sent = r, sent, sent
}

// ValidUntil returns until when this candidate holds the lease, zero if it does not. After that
// time it must have ended what it does.
func (e *Elector) ValidUntil() time.Time {
	if e.sent.IsZero() {
		return time.Time{}
	}
	return e.sent.Add(e.terms.Deadline)
}

// Release returns the record that gives the lease away.
func (e *Elector) Release() Record {
	r := e.seen
	r.Holder, e.sent = "", time.Time{}
	return r
}
