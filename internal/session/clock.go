package session

import "time"

// Instant is one moment on two clocks. Mono is one that nobody sets, counted from
// anywhere: the difference of two Go times that carry a monotonic reading.
type Instant struct {
	Wall time.Time
	Mono time.Duration
}

// Clock tells from the ticks of a loop when the host slept, when the process stood
// still and when the clock was set. The zero value has not ticked. Not for
// concurrent use.
type Clock struct {
	// Tolerance is how much a tick may be late and the clocks may differ; 5 s.
	Tolerance time.Duration

	last   Instant
	ticked bool
}

const defaultTolerance = 5 * time.Second

// Jump is what happened between two ticks beside the passing of time. The zero
// value is that nothing did.
type Jump struct {
	// Stood is how long nothing ran: the host slept, or the process was halted.
	// That the clock was set forward looks the same, and is taken for it.
	Stood time.Duration
	// Back is how far the clock was set back.
	Back time.Duration

	from time.Time // the last tick
}

// Happened reports whether anything did. Then nothing is ended for a timeout in
// this tick: everything is looked at first.
func (j Jump) Happened() bool { return j.Stood != 0 || j.Back != 0 }

// Tick notes a tick, which was meant to come after the given time or earlier, and
// returns what happened since the one before.
func (c *Clock) Tick(now Instant, meant time.Duration) Jump {
	now.Wall = now.Wall.Round(0)
	last, ticked := c.last, c.ticked
	c.last, c.ticked = now, true
	if !ticked {
		return Jump{}
	}
	tolerance := c.Tolerance
	if tolerance <= 0 {
		tolerance = defaultTolerance
	}
	mono := now.Mono - last.Mono
	skew := now.Wall.Sub(last.Wall) - mono
	j := Jump{from: last.Wall}
	if skew < -tolerance {
		j.Back = -skew
	}
	if skew > tolerance {
		j.Stood = skew
	}
	if late := mono - meant; late > tolerance {
		j.Stood += late
	}
	if !j.Happened() {
		return Jump{}
	}
	return j
}

// Deadline moves a time at which something is to happen, so that as much is left
// of it as would have been without the jump. One that had passed before the jump
// is only moved with the clock. The zero time stays. Not for times that a vendor
// names, such as the end of a limit.
func (j Jump) Deadline(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	ahead := at.After(j.from)
	at = at.Add(-j.Back)
	if ahead {
		at = at.Add(j.Stood)
	}
	return at
}

// Past moves a time at which something happened, so that it lies as long ago as
// it does. That the host slept does not change how long ago that was.
func (j Jump) Past(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(-j.Back)
}

// Shift moves all that the record measures from now: the next start, unless a
// limit names it, the drain's deadline, and the failures of the window.
func (r *Record) Shift(j Jump) {
	if !j.Happened() {
		return
	}
	if r.Limited.Since.IsZero() {
		r.NextAt = j.Deadline(r.NextAt)
	}
	r.Drain.Deadline = j.Deadline(r.Drain.Deadline)
	r.StartedAt = j.Past(r.StartedAt)
	failures := make([]time.Time, len(r.Failures))
	for i, at := range r.Failures {
		failures[i] = j.Past(at)
	}
	if len(failures) > 0 {
		r.Failures = failures
	}
}
