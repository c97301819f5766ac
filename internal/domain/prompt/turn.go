package prompt

import (
	"time"

	"gascity/runtime"
)

// turnBound is how long a normal prompt waits for the end of a turn. Then it is offered to
// the agent all the same: one that is busy for ever gets attempts.
const turnBound = 30 * time.Minute

// rest returns until when a normal prompt waits for the end of the turn that the agent is
// in; zero: it does not wait. It waits only for a turn that the agent reports: what is
// concluded from a screen may be wrong, or never end, and the driver looks at it itself.
// The time counts from when the agent last took a prompt, so that each of a row of prompts
// has all of it.
func (r *Receipt) rest(s Sight) time.Time {
	if r.Priority != Normal || s.Activity != runtime.ActivityBusy || !s.Sure {
		return time.Time{}
	}
	return later(r.CreatedAt, s.TakenAt).Add(turnBound)
}

// turn returns until when a normal prompt waits for the activity to show a turn that a hook
// has reported already; zero: it does not wait.
func (r *Receipt) turn(s Sight) time.Time {
	if r.Priority != Normal || s.TurnAt.IsZero() || s.Since.After(s.TurnAt) {
		return time.Time{}
	}
	return s.TurnAt.Add(tellingWord)
}

// takeoverBound is how long a new controller waits for what an agent that it took over says
// of itself.
const takeoverBound = 3 * time.Second

// fresh returns until when a prompt waits for evidence that is newer than the controller: an
// agent that it took over may be in a turn that the earlier controller knew of, and a text
// that is typed then may cut the turn off. Zero: it does not wait. An agent that is seen
// busy, however unsurely, is waited for as in a turn that it reports.
func (r *Receipt) fresh(s Sight) time.Time {
	if r.Priority == System || s.TookOver.IsZero() {
		return time.Time{}
	}
	switch s.Activity {
	case runtime.ActivityBusy:
		if r.Priority == Normal {
			return s.TookOver.Add(turnBound)
		}
		return time.Time{}
	case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityBackground:
		if s.rereadAtRest() {
			return later(s.TookOver, s.Since).Add(resting)
		}
	default:
	}
	return s.TookOver.Add(takeoverBound)
}

// rereadAtRest reports whether the agent was read at rest since the controller took it over.
// What is only concluded from a screen does not count where hooks report turns.
func (s Sight) rereadAtRest() bool { return s.ReadAt.After(s.TookOver) && (s.Sure || !s.Tells) }

// Rests reports whether the agent is seen at rest, so that nothing of the time before the
// controller took it over is to be waited for any more.
func (s Sight) Rests(now time.Time) bool {
	switch s.Activity {
	case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityBackground:
		return s.rereadAtRest() && !now.Before(later(s.TookOver, s.Since).Add(resting))
	default:
		return false
	}
}

// edgeBound is how long at most an urgent prompt waits for the beginning of a turn.
const edgeBound = 5 * time.Second

// edge returns until when an urgent prompt waits because the agent took another one
// and there was no look since then whether a turn began, which would be interrupted
// first; zero: it does not wait.
func (r *Receipt) edge(s Sight, now time.Time) time.Time {
	if r.Priority != Urgent || !r.Interrupted.IsZero() || s.TakenAt.IsZero() || s.ReadAt.IsZero() || s.Activity == runtime.ActivityBusy {
		return time.Time{}
	}
	until := s.TakenAt.Add(edgeBound)
	if from := later(s.TakenAt, s.Since).Add(resting); s.ReadAt.After(s.TakenAt) && from.Before(until) {
		until = from
	}
	if !now.Before(until) {
		return time.Time{}
	}
	return until
}

// beginBound is how long an agent that has been given a prompt may seem to rest.
const beginBound = 5 * time.Second

// BeginsBy returns until when an agent that seems to rest may be about to begin with the prompt:
// it has just been accepted, is being handed over, or was taken a moment ago. Zero: it has ended.
func (r *Receipt) BeginsBy(now time.Time) time.Time {
	switch {
	case r.Final():
		return time.Time{}
	case r.Waits():
		return r.CreatedAt.Add(beginBound)
	case r.State == Injected:
		return now.Add(beginBound)
	}
	return r.at(Submitted).Add(beginBound)
}
