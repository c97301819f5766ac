package prompt

import (
	"time"

	"gascity/runtime"
)

// turnBound is how long a normal prompt waits for the end of a turn. Then it is offered to
// the agent all the same: one that is busy for ever gets attempts.
const turnBound = 30 * time.Minute

// turnEndDeadline returns until when a normal prompt waits for the end of the turn that the agent is
// in; zero: it does not wait. It waits only for a turn that the agent reports: what is
// concluded from a screen may be wrong, or never end, and the driver looks at it itself.
// The time counts from when the agent last took a prompt, so that each of a row of prompts
// has all of it.
func (r *Receipt) turnEndDeadline(s Observation) time.Time {
	if r.Priority != Normal || s.Activity != runtime.ActivityBusy || !s.IsCertain {
		return time.Time{}
	}
	return later(r.CreatedAt, s.AcceptedAt).Add(turnBound)
}

// hookTurnDeadline returns until when a normal prompt waits for the activity to show a turn that a hook
// has reported already; zero: it does not wait.
func (r *Receipt) hookTurnDeadline(s Observation) time.Time {
	if r.Priority != Normal || s.TurnAt.IsZero() || s.Since.After(s.TurnAt) {
		return time.Time{}
	}
	return s.TurnAt.Add(hookReportWait)
}

// takeoverBound is how long a new controller waits for what an agent that it took over says
// of itself.
const takeoverBound = 3 * time.Second

// freshEvidenceDeadline returns until when a prompt waits for evidence that is newer than the controller: an
// agent that it took over may be in a turn that the earlier controller knew of, and a text
// that is typed then may cut the turn off. Zero: it does not wait. An agent that is seen
// busy, however unsurely, is waited for as in a turn that it reports.
func (r *Receipt) freshEvidenceDeadline(s Observation) time.Time {
	if r.Priority == System || s.AdoptedAt.IsZero() {
		return time.Time{}
	}
	switch s.Activity {
	case runtime.ActivityBusy:
		if r.Priority == Normal {
			return s.AdoptedAt.Add(turnBound)
		}
		return time.Time{}
	case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityBackground:
		if s.isIdleSinceAdoption() {
			return later(s.AdoptedAt, s.Since).Add(idleConfirmation)
		}
	default:
	}
	return s.AdoptedAt.Add(takeoverBound)
}

// isIdleSinceAdoption reports whether the agent was read at rest since the controller took it over.
// What is only concluded from a screen does not count where hooks report turns.
func (s Observation) isIdleSinceAdoption() bool {
	return s.ReadAt.After(s.AdoptedAt) && (s.IsCertain || !s.ReportsTurns)
}

// IsIdle reports whether the agent is seen at rest, so that nothing of the time before the
// controller took it over is to be waited for any more.
func (s Observation) IsIdle(now time.Time) bool {
	switch s.Activity {
	case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityBackground:
		return s.isIdleSinceAdoption() && !now.Before(later(s.AdoptedAt, s.Since).Add(idleConfirmation))
	default:
		return false
	}
}

// edgeBound is how long at most an urgent prompt waits for the beginning of a turn.
const edgeBound = 5 * time.Second

// turnEdgeDeadline returns until when an urgent prompt waits because the agent took another one
// and there was no look since then whether a turn began, which would be interrupted
// first; zero: it does not wait.
func (r *Receipt) turnEdgeDeadline(s Observation, now time.Time) time.Time {
	if r.Priority != Urgent || !r.Interrupted.IsZero() || s.AcceptedAt.IsZero() || s.ReadAt.IsZero() || s.Activity == runtime.ActivityBusy {
		return time.Time{}
	}
	until := s.AcceptedAt.Add(edgeBound)
	if from := later(s.AcceptedAt, s.Since).Add(idleConfirmation); s.ReadAt.After(s.AcceptedAt) && from.Before(until) {
		until = from
	}
	if !now.Before(until) {
		return time.Time{}
	}
	return until
}

// beginBound is how long an agent that has been given a prompt may seem to rest.
const beginBound = 5 * time.Second

// TurnStartDeadline returns until when an agent that seems to rest may be about to begin with the prompt:
// it has just been accepted, is being handed over, or was taken a moment ago. Zero: it has ended.
func (r *Receipt) TurnStartDeadline(now time.Time) time.Time {
	switch {
	case r.Final():
		return time.Time{}
	case r.IsQueued():
		return r.CreatedAt.Add(beginBound)
	case r.State == Injected:
		return now.Add(beginBound)
	}
	return r.enteredAt(Submitted).Add(beginBound)
}
