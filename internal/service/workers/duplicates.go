package workers

import (
	"slices"
	"time"

	"gascity/runtime"
)

// duplicateTimeout is how long the place may show a question after the city has answered
// it.
const duplicateTimeout = 3 * time.Second

// mergeDuplicatesLocked makes one of a question that the agent CLI shows at its own place and
// that its hook asks the city: answered at the city, it is not asked again while the
// place still shows it; answered at the place, which has shown it and does not any
// more, it is over here, for no hook reports that.
func (a *liveRun) mergeDuplicatesLocked(r *runtime.Reading) {
	shown := r.Pending != nil
	for _, q := range a.asked {
		switch {
		case !q.duplicate || q.answer != nil || q.ended:
		case shown:
			q.shown = true
		case q.shown:
			q.ended = true
			a.changeLocked()
		}
	}
	a.asked = slices.DeleteFunc(slices.Clone(a.asked), func(q *question) bool { return q.ended })
	until := a.answeredUntil
	if !a.isJustAnsweredLocked(r.Pending) {
		if until = a.hookDueLocked(r.Pending); until.IsZero() {
			return
		}
	}
	r.Pending = nil
	r.Evidence = slices.DeleteFunc(slices.Clone(r.Evidence), func(e runtime.Evidence) bool { return e.Activity == runtime.ActivityWaiting })
	if r.Again.IsZero() || r.Again.After(until) {
		r.Again = until
	}
}

// hookDue is how long after a question is on the screen the agent CLI's hook may ask the same.
const hookDue = time.Second

// hookDueLocked reports until when the hook of an agent that reports may still ask what its
// screen asks: the question is listed once, in the hook's words, which a person can answer as
// long as it stands. Zero: it is listed as the screen has it.
func (a *liveRun) hookDueLocked(p *runtime.PendingInteraction) time.Time {
	now := a.engine.opts.Now()
	if p == nil || p.Kind != runtime.WaitPermission {
		a.drawnAt = time.Time{}
		return time.Time{}
	}
	if _, reports := a.life.Evidence(now); !reports {
		return time.Time{}
	}
	if a.drawnAt.IsZero() { // a question that is drawn again each second must not wait for ever
		a.drawnAt = now
	}
	if until := a.drawnAt.Add(hookDue); now.Before(until) {
		return until
	}
	return time.Time{}
}

// isJustAnsweredLocked reports whether a question of the place is one that the city has
// answered a moment ago.
func (a *liveRun) isJustAnsweredLocked(p *runtime.PendingInteraction) bool {
	return p != nil && p.Kind == runtime.WaitPermission && a.engine.opts.Now().Before(a.answeredUntil)
}

func (a *liveRun) skipsPlaceQuestion(p *runtime.PendingInteraction) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isJustAnsweredLocked(p) || !a.hookDueLocked(p).IsZero()
}
