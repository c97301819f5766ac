package controller

import (
	"fmt"
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// jumpBound is how far time may go on without the loop, or go back, before the
// host is taken to have slept or its clock to have been set.
const jumpBound = 10 * time.Second

// checkClock compares how long it is since the clock was checked last with how long
// the loop meant to wait in between. After a jump every deadline moves with it,
// everything is looked at again, and for one patrol nothing is ended for a timeout.
// The host may stand still anywhere: what is decided by then rests on a look that is
// too old to act on, and the next wait shows it.
func (l *loop) checkClock(meant time.Duration) {
	before := l.checked
	l.checked = l.now()
	passed := l.checked.Round(0).Sub(before.Round(0)) // on the wall: what a suspend leaves out counts
	gap := passed - min(meant, l.settings().Patrol)
	switch {
	case gap > jumpBound:
		l.c.emit(event.HostResumed, nil, "the host slept, or stood still", map[string]string{"seconds": fmt.Sprint(int(gap.Seconds()))})
	case passed < -jumpBound:
		gap = passed
		l.c.emit(event.ClockJumped, nil, "the clock was set back", map[string]string{"seconds": fmt.Sprint(int(gap.Seconds()))})
	default:
		return
	}
	l.jumpedAt = l.checked
	l.wakeAt(l.jumpedAt.Add(l.settings().Patrol))
	l.patrol()
	if l.ending != nil {
		l.ending.Shift(func(t time.Time) time.Time { return ops.Shift(t, gap) })
	}
	for _, p := range l.backends {
		p.listedAt = ops.Shift(p.listedAt, gap)
		if gap < 0 {
			p.listAfter = time.Time{}
		}
	}
	for _, e := range l.entries {
		e.shift(gap)
		e.stale = true
	}
}

// shift moves the deadlines by the time in which the controller could not act.
func (e *entry) shift(gap time.Duration) {
	if e.stopAt, e.driftedAt, e.observeAt = ops.Shift(e.stopAt, gap), ops.Shift(e.driftedAt, gap), ops.Shift(e.observeAt, gap); gap > 0 {
		e.observeAt = time.Time{}
	}
	e.waitsFrom = ops.Shift(e.waitsFrom, gap)
	if e.job != nil {
		e.job.overdue = ops.Shift(e.job.overdue, gap)
		if a := e.job.attempt; a != nil {
			a.Shift(gap)
		}
	}
	s := &e.sensing
	s.due, s.last, s.overdue = ops.Shift(s.due, min(gap, 0)), ops.Shift(s.last, min(gap, 0)), ops.Shift(s.overdue, gap)
	s.stall.At, s.stall.Interrupted = ops.Shift(s.stall.At, gap), ops.Shift(s.stall.Interrupted, gap)
	if e.rec.IsDraining() {
		e.rec.Drain.Deadline = ops.Shift(e.rec.Drain.Deadline, gap)
		e.touch()
	}
	if gap < 0 && (!e.rec.NextAt.IsZero() || len(e.rec.Failures) > 0) && e.rec.Obstacle.Kind != runtime.ObstacleLimit {
		e.rec.ShiftFailures(gap)
		e.touch()
	}
}
