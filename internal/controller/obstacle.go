package controller

import (
	"cmp"
	"context"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

const (
	// obstacleOver is how long an idle agent must show no obstacle before an obstacle that blocked
	// its prompts is over. Right after a prompt, a screen shows neither the old error nor a turn.
	obstacleOver = 3 * time.Second
	// obstacleWorked is the same time for an agent in a turn, which may still be retrying.
	obstacleWorked = 30 * time.Second
	// obstacleAgain is the time after the end of an obstacle in which one of the same kind
	// continues it, so that the pauses between prompts keep growing.
	obstacleAgain = 5 * time.Minute
)

// obstacles holds the obstacle state of an entry that is not in its record.
type obstacles struct {
	goneAt time.Time // since when no signal shows the record's obstacle; zero: a signal shows it
	past   session.Obstacle
	pastAt time.Time // when past ended
}

// updateObstacle updates the record's obstacle from the agent's activity. While the activity is unknown,
// the obstacle does not change.
func (l *loop) updateObstacle(e *entry) {
	a, was := &e.sensing.activity, &e.rec.Obstacle
	switch {
	case a.Obstacle.Kind != "":
		next := a.Obstacle
		if was.IsSame(&next) && next.Detail == was.Detail && next.Source == runtime.SourceScreen && was.Source == next.Source && !was.ResetAt.IsZero() {
			next.ResetAt = was.ResetAt // a screen that still shows "resets 3pm" after 3pm does not mean 3pm tomorrow
		}
		l.setObstacle(e, next)
	case was.Kind == "" || a.State == runtime.ActivityUnknown:
	case !was.BlocksPrompts():
		l.endObstacle(e)
	default:
		if e.obstacles.goneAt.IsZero() {
			e.obstacles.goneAt = l.now()
		}
		after := obstacleOver
		if a.State == runtime.ActivityBusy || a.State == runtime.ActivityWaiting {
			after = obstacleWorked
		}
		if due := e.obstacles.goneAt.Add(after); l.now().Before(due) {
			l.senseAt(e, due)
			return
		}
		l.endObstacle(e)
	}
}

// setObstacle records the obstacle next, which a signal has just shown. If the record already has
// this obstacle, the time since when it exists and the number of its probes (prompts that were sent
// in spite of it) stay.
func (l *loop) setObstacle(e *entry, next session.Obstacle) {
	was, now := e.rec.Obstacle, l.now()
	e.obstacles.goneAt = time.Time{}
	same := was.IsSame(&next)
	switch past := &e.obstacles.past; {
	case was.Kind == next.Kind:
		next.Probes, next.ProbeAt, next.Released = was.Probes, was.ProbeAt, was.Released
	case past.Kind == next.Kind && now.Sub(e.obstacles.pastAt) < obstacleAgain:
		next.Probes = past.Probes
	}
	if same {
		next.Since = was.Since
		next.Detail = cmp.Or(next.Detail, was.Detail)
	}
	if next.Since.IsZero() {
		next.Since = now
	}
	if !same || !next.ResetAt.Equal(was.ResetAt) || next.ProbeAt.IsZero() {
		next.Schedule(now)
	}
	if next == was {
		return
	}
	if next.Kind == runtime.ObstacleRetrying || next.Kind == runtime.ObstacleNoNetwork {
		at := now
		if next.NextTry.After(now) {
			at = next.NextTry // no progress is expected before that
		}
		e.sensing.stall.progress("a request that is tried again", at)
	}
	e.rec.Obstacle = next
	if same && !next.BlocksPrompts() {
		l.markChanged(e) // one more attempt: published, but not saved
		return
	}
	e.touch()
	l.markChanged(e)
	if same && next.ResetAt.Equal(was.ResetAt) {
		return
	}
	l.emit(event.SessionObstacle, e, explain.ObstacleText(&next), explain.ObstacleData(&next))
	if next.Kind == runtime.ObstacleLimit {
		l.emit(event.SessionLimited, e, "the model provider serves no requests for now",
			map[string]string{"until": explain.Stamp(next.ResetAt), "source": string(next.Source)})
	}
}

// endObstacle removes an obstacle that is over from the record.
func (l *loop) endObstacle(e *entry) {
	was := e.rec.Obstacle
	if was.Kind == "" {
		return
	}
	e.obstacles = obstacles{past: was, pastAt: l.now()}
	e.rec.Obstacle = session.Obstacle{}
	e.touch()
	l.markChanged(e)
	l.emit(event.SessionObstacleOver, e, "nothing keeps the agent from making progress any more", map[string]string{"obstacle": was.Kind})
}

// recordFinalLimit records a limit that an agent reported when it exited, and reports whether the
// limit is the reason of the exit.
func (l *loop) recordFinalLimit(e *entry, last *runtime.Evidence) bool {
	if last != nil && last.Activity == runtime.ActivityLimited {
		l.setObstacle(e, session.Obstacle{
			Obstacle: runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: last.Detail, ResetAt: last.Until}, Source: last.Source, Since: l.now(),
		})
	}
	return l.limited(e)
}

// limited reports whether the agent stopped because of a usage limit, and not because of a failure.
// If so, it delays the next start until the limit ends, or by [session.LimitProbe] if that time is
// unknown. Any obstacle of another kind is removed from the record.
func (l *loop) limited(e *entry) bool {
	o := &e.rec.Obstacle
	if o.Kind != runtime.ObstacleLimit {
		l.endObstacle(e)
		return false
	}
	if !o.ResetAt.IsZero() && !l.now().Before(o.ResetAt) {
		return false
	}
	if o.Schedule(l.now()); o.ResetAt.IsZero() {
		o.ProbeAt = l.now().Add(session.LimitProbe)
	}
	return true
}

// Probed records that a prompt was sent to an agent. If an obstacle still blocks the agent's prompts
// and the next probe was due, the prompt counts as this probe, and the one after it is scheduled.
// Probed returns when the loop has received the call, not when it has handled it.
func (c *Controller) Probed(name string) {
	c.post(func(l *loop) {
		e, err := l.find(name)
		if err != nil || !e.rec.Obstacle.BlocksPrompts() {
			return
		}
		o := &e.rec.Obstacle
		if l.now().Before(o.ProbeAt) {
			return // the prompt is not a probe: the next probe is not due yet
		}
		o.Probes++
		o.Schedule(l.now())
		e.touch()
		l.markChanged(e)
	})
}

// Resume ends a suspension, a drain, or the blocking of prompts by an obstacle.
func (c *Controller) Resume(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, resumeOrder)
}
