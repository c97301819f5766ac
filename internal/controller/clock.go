package controller

import (
	"fmt"
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// jumpBound is the difference between expected and actual time from which on gc assumes that the
// host slept or that its clock was set.
const jumpBound = 10 * time.Second

// checkClock detects that the host was suspended or that its clock was set. It compares the time
// since its last call with meant, the time for which the loop wanted to wait. If the difference is
// more than [jumpBound], it moves every deadline by the difference, marks every session for
// observation, and for one patrol interval gc stops nothing because of a timeout. A suspend between
// this check and an action is detected by the next check.
func (l *loop) checkClock(meant time.Duration) {
	before := l.checked
	l.checked = l.now()
	passed := l.checked.Round(0).Sub(before.Round(0)) // wall clock time, which includes the time of a suspend
	gap := passed - min(meant, l.settings().PatrolInterval)
	switch {
	case gap > jumpBound:
		l.emit(event.HostResumed, nil, "the host was suspended, or the controller did not run for a while", map[string]string{"seconds": fmt.Sprint(int(gap.Seconds()))})
	case passed < -jumpBound:
		gap = passed
		l.emit(event.ClockJumped, nil, "the clock was set back", map[string]string{"seconds": fmt.Sprint(int(gap.Seconds()))})
	default:
		return
	}
	l.jumpedAt = l.checked
	l.wakeAt(l.jumpedAt.Add(l.settings().PatrolInterval))
	l.patrol()
	if e := l.ending; e != nil {
		e.BeganAt, e.StopAfter = ops.Shift(e.BeganAt, gap), ops.Shift(e.StopAfter, gap)
		e.AwayFrom, e.Deadline = ops.Shift(e.AwayFrom, gap), ops.Shift(e.Deadline, gap)
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

// shift moves the deadlines of an entry by gap, the time in which the controller could not act.
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
