package session

import (
	"errors"
	"time"

	"gascity/runtime"
)

// StableLife is a life after which earlier failures do not lengthen the pause any
// more.
const StableLife = 5 * time.Minute

// Move applies a trigger to the state. The error is a [*TransitionError] for the
// log; the record is right all the same.
func (r *Record) Move(t Trigger, at time.Time) error {
	next, err := Next(r.State, t)
	r.enter(next, at)
	return err
}

// MoveTo applies the triggers that lead to a state, see [Route], and reports
// whether the state is another one then. The unknown state moves nothing.
func (r *Record) MoveTo(to State, at time.Time) (moved bool, err error) {
	if to == StateUnknown || to == r.State {
		return false, nil
	}
	from := r.State
	for _, t := range Route(from, to) {
		err = errors.Join(err, r.Move(t, at))
	}
	return r.State != from, err
}

func (r *Record) enter(s State, at time.Time) {
	if s != r.State {
		r.State, r.StateSince = s, at
	}
}

// Repair brings a record that was just loaded in line with a fresh look, see
// [Repair], and returns what was repaired. A start that was cut off and left
// nothing that runs counts as a failure, so that a controller that dies in each
// start does not start without end; how one ended that is noted as running is for
// [Record.Ended].
func (r *Record) Repair(facts Facts, at time.Time, keep time.Duration) string {
	facts.Draining, facts.Hold = r.Draining(), r.Hold.Kind
	cut := r.State == StateCreating || r.State == StateStarting
	state, reason := Repair(string(r.State), facts)
	if cut && !r.Running && (state == StateFailed || state == StateLost) {
		r.Fail(at, keep, "the start was cut off by the end of the controller")
	}
	r.enter(state, at)
	return reason
}

// Begin makes the record that of a new incarnation, and returns its epoch. What
// belonged to the former one is cleared: its token, a drain, a restart that it
// asked for, a limit that it met. Save the record before anything is started.
func (r *Record) Begin(at time.Time) uint64 {
	r.Epoch++
	r.Token, r.Handle, r.Instance, r.Warning = "", "", "", ""
	r.StartedAt, r.Running = at, false
	r.Drain, r.Limited, r.Renew, r.NextAt = Drain{}, Limit{}, time.Time{}, time.Time{}
	return r.Epoch
}

// End is how an incarnation ended.
type End struct {
	At   time.Time
	Exit *runtime.Exit // nil if nobody knows
	Gone bool          // the session is gone too
}

// Ended notes that the incarnation does not run any more, and reports whether the
// end was asked for: by a drain or by the agent itself. A drain ends with it, and
// the hold that was to follow begins. An end that was not asked for is a failure
// for [Record.Fail], unless the session is limited.
func (r *Record) Ended(end End) (asked bool) {
	asked = r.Draining() || !r.Renew.IsZero()
	r.Running, r.Exit, r.Lost = false, end.Exit, end.Exit == nil && end.Gone
	if r.Draining() && r.Drain.Then != "" {
		r.Hold = Hold{Kind: r.Drain.Then, Reason: r.Drain.Reason, Since: end.At}
	}
	r.Drain, r.Renew = Drain{}, time.Time{}
	if end.At.Sub(r.StartedAt) >= StableLife {
		r.Streak = 0
	}
	return asked
}

// Draining reports whether the present incarnation is to wind down. A drain that
// was meant for another one means nothing.
func (r *Record) Draining() bool { return r.Drain.Epoch != 0 && r.Drain.Epoch == r.Epoch }

// LimitProbe is how long after its beginning a limit without a known end is
// tried.
const LimitProbe = 30 * time.Minute

// Resumes is when a start is worth trying again, before anything is added that
// spreads a fleet; zero if there is no limit.
func (l Limit) Resumes() time.Time {
	switch {
	case l.Since.IsZero():
		return time.Time{}
	case l.Until.IsZero():
		return l.Since.Add(LimitProbe)
	}
	return l.Until
}

// Holds reports whether an end at the given time is the limit's doing, and no
// failure.
func (l Limit) Holds(at time.Time) bool { return at.Before(l.Resumes()) }

// Limit notes that the vendor serves nothing for now: no start before that is
// over, and no failure. Spread is added, so that a fleet does not start in step.
func (r *Record) Limit(l Limit, spread time.Duration) {
	r.Limited = l
	r.NextAt = l.Resumes().Add(spread)
}

const (
	firstPause  = time.Second
	pauseFactor = 3
	maxPause    = 5 * time.Minute
)

// Backoff is the pause before the start that follows the given number of failures
// in a row: 1 s, 3 s, 9 s, up to 5 minutes. Jitter spreads it; nil leaves it as
// it is.
func Backoff(streak int, jitter func(time.Duration) time.Duration) time.Duration {
	pause := firstPause
	for i := 1; i < streak && pause < maxPause; i++ {
		pause *= pauseFactor
	}
	pause = min(pause, maxPause)
	if jitter == nil {
		return pause
	}
	return jitter(pause)
}

// Quarantine reports whether the identity has failed maxRestarts times within the
// window, and until when it is left alone: until the window holds fewer. It is
// over when that is not after now. Zero or less is no limit.
func (r *Record) Quarantine(now time.Time, maxRestarts int, window time.Duration) (until time.Time, ok bool) {
	if maxRestarts <= 0 || len(r.Failures) < maxRestarts {
		return time.Time{}, false
	}
	until = r.Failures[len(r.Failures)-maxRestarts].Add(window)
	if !until.After(now) {
		return time.Time{}, false
	}
	return until, true
}
