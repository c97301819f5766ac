package controller

import (
	"time"

	"gascity/internal/domain/plan"
)

// poolLag is how long a pass waits that the activity of a pool's member asks for: the
// pool is judged once for many of them.
const poolLag = 250 * time.Millisecond

// edge records that what one agent does, or who looks at it, has changed. That costs
// work for its session alone, unless something is to be done about it.
func (l *loop) edge(e *entry) { l.edges[e] = true }

// processEdges decides about the sessions that have changed, and asks for a pass where
// that does not do.
func (l *loop) processEdges() {
	for e := range l.edges {
		delete(l.edges, e)
		if l.entries[e.rec.Key()] != e {
			continue
		}
		l.dirty = !l.review(e) || l.dirty
		l.show(e)
	}
}

// review reports whether the session could be decided about by itself.
func (l *loop) review(e *entry) bool {
	s := l.desired[e.rec.Key()]
	switch {
	case e.job != nil && e.job.verb != "":
		return true // its end makes a pass
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
