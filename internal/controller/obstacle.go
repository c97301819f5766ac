package controller

import (
	"context"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/requests"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

const (
	// obstacleOver is how long an agent at rest must show no obstacle before one that held
	// its prompts is over: right after a prompt, a screen shows neither the old error nor a turn.
	obstacleOver = 3 * time.Second
	// obstacleWorked is the same for an agent in a turn.
	obstacleWorked = 30 * time.Second
	// obstacleAgain is how soon after its end an obstacle of the same kind is the same one, so
	// that the pauses between prompts go on growing.
	obstacleAgain = 5 * time.Minute
)

// obstacles is what an entry remembers of obstacles beyond its record.
type obstacles struct {
	goneAt time.Time // since when nothing shows the one of the record; zero: something does
	past   session.Obstacle
	pastAt time.Time // when past ended
}

// obstacle keeps what the activity says of an obstacle. While the activity is not known, what
// was known stays.
func (l *loop) obstacle(e *entry) {
	a, was := &e.sensing.activity, &e.rec.Obstacle
	switch {
	case a.Obstacle.Kind != "":
		next := a.Obstacle
		if was.IsSame(&next) && next.Detail == was.Detail && next.Source == runtime.SourceScreen && was.Source == next.Source && !was.ResetAt.IsZero() {
			next.ResetAt = was.ResetAt // "resets 3pm", read again after 3pm, is not tomorrow
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

// setObstacle keeps an obstacle that was seen. One that was kept before keeps its beginning
// and its probes.
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
		if next.Detail == "" {
			next.Detail = was.Detail
		}
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
			at = next.NextTry // until then nothing happens
		}
		e.sensing.stall.progress("a request that is tried again", at)
	}
	e.rec.Obstacle = next
	if same && !next.BlocksPrompts() {
		l.edge(e) // an attempt more: shown, and not worth a write
		return
	}
	e.touch()
	l.edge(e)
	if same && next.ResetAt.Equal(was.ResetAt) {
		return
	}
	l.c.emit(event.SessionObstacle, e, explain.ObstacleText(&next), explain.ObstacleData(&next))
	if next.Kind == runtime.ObstacleLimit {
		l.c.emit(event.SessionLimited, e, "the model provider serves nothing for now",
			map[string]string{"until": explain.Stamp(next.ResetAt), "source": string(next.Source)})
	}
}

// endObstacle forgets an obstacle that is over.
func (l *loop) endObstacle(e *entry) {
	was := e.rec.Obstacle
	if was.Kind == "" {
		return
	}
	e.obstacles = obstacles{past: was, pastAt: l.now()}
	e.rec.Obstacle = session.Obstacle{}
	e.touch()
	l.edge(e)
	l.c.emit(event.SessionObstacleOver, e, "nothing keeps the agent from making progress any more", map[string]string{"obstacle": was.Kind})
}

// recordFinalLimit keeps a limit that an agent reported when it ended, and reports
// whether the end is due to one.
func (l *loop) recordFinalLimit(e *entry, last *runtime.Evidence) bool {
	if last != nil && last.Activity == runtime.ActivityLimited {
		l.setObstacle(e, session.Obstacle{
			Obstacle: runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: last.Detail, ResetAt: last.Until}, Source: last.Source, Since: l.now(),
		})
	}
	return l.limited(e)
}

// limited reports whether an end now is due to a limit, and no failure. The next
// start is delayed by the limit then; without a known end of it, by [session.LimitProbe]. Of
// other obstacles nothing is known any more.
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

// Probed records that an agent took a prompt. If an obstacle held its prompts back, the next one
// waits longer. It does not block for long.
func (c *Controller) Probed(name string) {
	f := func(l *loop) {
		e, err := l.find(name)
		if err != nil || !e.rec.Obstacle.BlocksPrompts() {
			return
		}
		o := &e.rec.Obstacle
		if l.now().Before(o.ProbeAt) {
			return // it was taken before the obstacle began
		}
		o.Probes++
		o.Schedule(l.now())
		e.touch()
		l.edge(e)
	}
	select {
	case c.calls <- f:
	case <-c.ended:
	}
}

// Resume releases an agent: from a suspension, from a drain, and from an obstacle that holds
// its prompts back.
func (c *Controller) Resume(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Resume(req.Reason))
}
