package prompt

import (
	"time"

	"gascity/runtime"
)

// turnBound is how long a normal prompt waits for the end of a turn. Then it is offered to
// the agent all the same: one that is busy for ever gets attempts.
const turnBound = 30 * time.Minute

// rest returns until when a normal prompt waits for the end of the turn that the agent is
// in; zero: it does not wait. It waits only for a turn that the agent tells of: what is
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
// has told of already; zero: it does not wait.
func (r *Receipt) turn(s Sight) time.Time {
	if r.Priority != Normal || s.TurnAt.IsZero() || s.Since.After(s.TurnAt) {
		return time.Time{}
	}
	return s.TurnAt.Add(tellingWord)
}

// edgeBound is how long at most an urgent prompt waits for the beginning of a turn.
const edgeBound = 5 * time.Second

// edge returns until when an urgent prompt waits because the agent took another one
// and nobody has looked since then whether a turn began, which would be interrupted
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
