package plan

import (
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// absent returns the action for a session that should run but does not: a start, or a wait with the
// reason why it cannot start yet.
func (d *planner) absent(a Action, s *Session, o *Observed) Action {
	oneShot := s.Config.Lifecycle == runtime.LifecycleOneShot
	state := client.StateStopped
	switch {
	case o.Fault != "":
		state = client.StateFailed
	case o.Lost:
		state = client.StateLost
	}
	switch {
	case oneShot && o.finished() && o.Order == OrderNone && !changedSince(s, o):
		a.Desired = client.DesiredStopped
		return a.with(VerbNone, client.StateStopped, "it has finished")
	case o.Order != OrderRestart && o.Obstacle.Kind == runtime.ObstacleLimit && d.limited(s, o).After(d.now):
		return a.until(d.limited(s, o), client.StateStopped, limitReason(o))
	case d.quarantine(o).After(d.now):
		return d.quarantined(a, o)
	case d.now.Before(o.NextAt):
		return a.until(o.NextAt, state, o.lastEnd())
	}
	if previous := d.previousLocation(s); previous != nil && d.moveBlockedReason(s, previous) != "" {
		return a.with(VerbWait, client.StateStopped, d.moveBlockedReason(s, previous))
	}
	if blocked := d.blockingLocationReason(s); blocked != "" {
		return a.with(VerbWait, state, blocked)
	}
	if missing := d.missingDependencyReason(s); missing != "" {
		return a.with(VerbWait, state, missing)
	}
	return a.with(VerbStart, client.StateStarting, o.lastEnd())
}

// quarantined returns a wait until the end of the session's quarantine, with the number of failures
// and the last one as the reason.
func (d *planner) quarantined(a Action, o *Observed) Action {
	return a.until(d.quarantine(o), client.StateQuarantined,
		fmt.Sprintf("%s within %s, the last: %s", textfmt.Count(len(d.recent(o)), "failure"), textfmt.Duration(d.policy.RestartWindow), o.lastEnd()))
}

// changedSince reports whether the core configuration differs from the one that the last instance
// was started with. It returns false if the two cannot be compared.
func changedSince(s *Session, o *Observed) bool {
	return runtime.FingerprintCurrent(o.Stored.Core) && o.Stored.Core != s.Core
}

// recent returns the times of those failures of the session that are not older than the restart
// window.
func (d *planner) recent(o *Observed) []time.Time {
	from := d.now.Add(-d.policy.RestartWindow)
	return slices.DeleteFunc(slices.Clone(o.Failures), func(t time.Time) bool { return !t.After(from) })
}

// quarantine returns the end of the session's quarantine, before which it must not start. It
// returns the zero time if the session has not failed often enough to be in quarantine.
func (d *planner) quarantine(o *Observed) time.Time {
	recent := d.recent(o)
	if d.policy.MaxRestarts <= 0 || len(recent) < d.policy.MaxRestarts {
		return time.Time{}
	}
	return recent[len(recent)-d.policy.MaxRestarts].Add(d.policy.RestartWindow)
}

// blockingLocationReason returns why a start must wait for another session of the same agent, at
// its previous runtime provider or under its previous name: that one may still run. It returns ""
// if there is none.
func (d *planner) blockingLocationReason(s *Session) string {
	for _, home := range d.locations[s.Agent] {
		if home.Key() == s.Key() {
			continue
		}
		if home.unknown() != "" || home.running() || home.orphaned() || home.Working != "" {
			return fmt.Sprintf("its previous session %s must end first", home.Session)
		}
	}
	return ""
}

// missingDependencyReason returns which agent in depends_on is not ready yet, as a reason text;
// empty if all are ready.
func (d *planner) missingDependencyReason(s *Session) string {
	for _, name := range s.DependsOn {
		if p := d.pools[name]; p != nil {
			if !d.anyReady(p) {
				return fmt.Sprintf("it waits for a member of %s", name)
			}
			continue
		}
		dep := d.agents[name]
		if dep == nil {
			return fmt.Sprintf("it depends on %s, which is not configured", name)
		}
		if !d.ready(dep) {
			return fmt.Sprintf("it waits for %s", name)
		}
	}
	return ""
}

// ready reports whether agents that depend on this session may start: its own start is complete,
// or, for a one-shot session, it has finished.
func (d *planner) ready(s *Session) bool {
	o := d.at(s)
	if o == nil || o.unknown() != "" || s.Suspended || o.Hold.Kind != "" {
		return false
	}
	if s.Config.Lifecycle == runtime.LifecycleOneShot {
		return o.finished() && !changedSince(s, o)
	}
	return o.running() && o.Managed && o.Working != VerbStart && !o.Working.Ends() && !o.IsDraining()
}

// anyReady reports whether a member of the pool is ready.
func (d *planner) anyReady(p *pool) bool {
	return slices.ContainsFunc(p.Members, func(name string) bool {
		member := d.agents[name]
		return member != nil && d.ready(member)
	})
}

// limitSpread is the period over which gc spreads the starts of sessions that wait for the same
// limit to end.
const limitSpread = time.Minute

// limited returns the time before which a session that has reached a usage limit must not start.
// Sessions with the same limit get slightly different times.
func (d *planner) limited(s *Session, o *Observed) time.Time {
	over := o.Obstacle.ProbeAt
	if !o.NextAt.Before(over) {
		return o.NextAt // already spread, or there is no limit
	}
	return over.Add(jitterFor(limitSpread, s.Name, 0)) // without the epoch, because a start that is being saved has already increased it
}

// limitReason returns the reason text for a session with a usage limit.
func limitReason(o *Observed) string {
	reason := "limited, no reset time known"
	if !o.Obstacle.ResetAt.IsZero() {
		reason = "limited until " + o.Obstacle.ResetAt.Format(time.RFC3339)
	}
	if o.Obstacle.Detail != "" {
		reason += ": " + o.Obstacle.Detail
	}
	return reason
}
