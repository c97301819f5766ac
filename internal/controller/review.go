package controller

import (
	"time"

	"gascity/internal/domain/plan"
)

// poolLag is the delay before a pass after the activity of a pool's member changed, so that one
// pass handles many members.
const poolLag = 250 * time.Millisecond

// markChanged marks a session whose activity or number of attached terminals changed.
// [loop.processEdges] then decides about this session alone, which is cheaper than a pass over all
// sessions.
func (l *loop) markChanged(e *entry) { l.edges[e] = true }

// processEdges decides about each marked session alone. If that is not possible, or if the session
// needs an action, it requests a pass.
func (l *loop) processEdges() {
	for e := range l.edges {
		delete(l.edges, e)
		if l.entries[e.rec.Key()] != e {
			continue
		}
		l.dirty = !l.review(e) || l.dirty
		l.publishEntry(e)
	}
}

// review decides about one session without a pass. It returns true if nothing more is to be done
// now, and false if a pass is necessary.
func (l *loop) review(e *entry) bool {
	s := l.desired[e.rec.Key()]
	switch {
	case e.job != nil && e.job.verb != "":
		return true // a pass follows when the job is finished
	case s == nil, e.job != nil, e.stale, l.ending != nil, l.unread != "":
		return false
	case s.Pool != "":
		l.wakeAt(l.now().Add(poolLag))
		return true
	}
	o := l.observed(e)
	a, ok := plan.Review(e.action, s, &o, l.now(), l.policy())
	if !ok {
		return false
	}
	l.recordDecision(e, a)
	if a.After.After(l.now()) {
		l.wakeAt(a.After)
	}
	l.save(e)
	return !a.Rebaseline
}
