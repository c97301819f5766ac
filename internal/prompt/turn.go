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
