package prompt

import (
	"time"

	"gascity/runtime"
)

// turnBound is the maximum time that a normal prompt waits for the end of a turn. After that gc
// tries to deliver it anyway, so that an agent that never stops being busy still gets attempts.
const turnBound = 30 * time.Minute

// turnEndDeadline returns the time until which a normal prompt waits for the end of the agent's
// turn; zero: it does not wait. It waits only for a turn that the agent itself reports, because a
// turn that is guessed from the screen may be wrong or never end. The time counts from the last
// prompt that the agent accepted, so that each of several prompts waits for the full time.
func (r *Receipt) turnEndDeadline(s Observation) time.Time {
	if r.Priority != Normal || s.Activity != runtime.ActivityBusy || !s.IsCertain {
		return time.Time{}
	}
	return later(r.CreatedAt, s.AcceptedAt).Add(turnBound)
}

// hookTurnDeadline returns the time until which a normal prompt waits after a hook has reported the
// beginning of a turn, until the activity shows that turn too; zero: it does not wait.
func (r *Receipt) hookTurnDeadline(s Observation) time.Time {
	if r.Priority != Normal || s.TurnAt.IsZero() || s.Since.After(s.TurnAt) {
		return time.Time{}
	}
	return s.TurnAt.Add(hookReportWait)
}

// takeoverBound is how long a new controller waits for an agent that it adopted to report its
// activity.
const takeoverBound = 3 * time.Second

// freshEvidenceDeadline returns the time until which a prompt for an adopted agent waits for a new
// report of its activity; zero: it does not wait. The agent may be in a turn that only the previous
// controller knew of, and typing a text could interrupt that turn. If the agent is observed busy,
// even as a guess, a normal prompt waits up to [turnBound].
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

// isIdleSinceAdoption reports whether the activity was read after the controller adopted the
// agent. A guess from the screen does not count if hooks report turns.
func (s Observation) isIdleSinceAdoption() bool {
	return s.ReadAt.After(s.AdoptedAt) && (s.IsCertain || !s.ReportsTurns)
}

// IsIdle reports whether the agent has been observed idle long enough after the controller adopted
// it, so that no turn from before can still be in progress.
func (s Observation) IsIdle(now time.Time) bool {
	switch s.Activity {
	case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityBackground:
		return s.isIdleSinceAdoption() && !now.Before(later(s.AdoptedAt, s.Since).Add(idleConfirmation))
	default:
		return false
	}
}

// edgeBound is the maximum time that an urgent prompt waits for the beginning of a turn.
const edgeBound = 5 * time.Second

// turnEdgeDeadline returns the time until which an urgent prompt waits after the agent accepted
// another prompt; zero: it does not wait. Until then it is not known whether that prompt began a
// turn, which the urgent prompt would have to interrupt first.
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

// beginBound is how long an agent may look idle after it got a prompt.
const beginBound = 5 * time.Second

// TurnStartDeadline returns the time until which an agent that looks idle may still be about to
// begin a turn with this prompt. Zero: the receipt is final.
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
