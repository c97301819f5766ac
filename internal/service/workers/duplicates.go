package workers

import (
	"slices"
	"time"

	"gascity/runtime"
)

// duplicateTimeout is how long the agent's terminal may still show a question that was answered in
// the city.
const duplicateTimeout = 3 * time.Second

// mergeDuplicatesLocked makes one question of the question that the agent CLI shows in its terminal
// and the same question that its hook asks the city. The one in the terminal is removed from r while
// the hook may still ask it (see hookDueLocked), and for duplicateTimeout after an answer in the
// city; r.Again is then the time to look again. When the terminal has shown the question and does not
// show it any more, it was answered there; no hook reports that, so the city's question is closed.
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
	until := a.answeredUntil // the question in the terminal is hidden until then
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

// hookDue is how long after a question appears on the screen the agent CLI's hook may ask the same
// question.
const hookDue = time.Second

// hookDueLocked returns the time until which a hook may still ask the city the question p that the
// screen shows. Until then p is not listed, so that a person sees only the hook's question, which
// gc can answer better. Zero: p is listed now.
func (a *liveRun) hookDueLocked(p *runtime.PendingInteraction) time.Time {
	now := a.engine.opts.Now()
	if p == nil || p.Kind != runtime.WaitPermission {
		a.screenAsksSince = time.Time{}
		return time.Time{}
	}
	if _, reports := a.life.Evidence(now); !reports {
		return time.Time{}
	}
	if a.screenAsksSince.IsZero() { // set once: a question that is redrawn every second must not be hidden for ever
		a.screenAsksSince = now
	}
	if until := a.screenAsksSince.Add(hookDue); now.Before(until) {
		return until
	}
	return time.Time{}
}

// isJustAnsweredLocked reports whether p is a question that was answered in the city within
// duplicateTimeout.
func (a *liveRun) isJustAnsweredLocked(p *runtime.PendingInteraction) bool {
	return p != nil && p.Kind == runtime.WaitPermission && a.engine.opts.Now().Before(a.answeredUntil)
}

// hidesTerminalQuestion reports whether the question p in the agent's terminal is not listed,
// because the agent CLI's hook asks the same question, may be about to, or because it was just
// answered in the city.
func (a *liveRun) hidesTerminalQuestion(p *runtime.PendingInteraction) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isJustAnsweredLocked(p) || !a.hookDueLocked(p).IsZero()
}
