package plan

import (
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// absent decides about a session that is to run and does not.
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
		a.Desired = DesiredStopped
		return a.with(VerbNone, client.StateStopped, "it has finished")
	case o.Order != OrderRestart && o.Obstacle.Kind == runtime.ObstacleLimit && d.limited(s, o).After(d.now):
		return a.until(d.limited(s, o), client.StateStopped, limitReason(o))
	case d.quarantine(o).After(d.now):
		return d.quarantined(a, o)
	case d.now.Before(o.NextAt):
		return a.until(o.NextAt, state, o.lastEnd())
	}
	if former := d.formerLocation(s); former != nil && d.moveBlockedReason(s, former) != "" {
		return a.with(VerbWait, client.StateStopped, d.moveBlockedReason(s, former))
	}
	if former := d.blockingLocation(s); former != "" {
		return a.with(VerbWait, state, former)
	}
	if missing := d.missingDependencyName(s); missing != "" {
		return a.with(VerbWait, state, missing)
	}
	return a.with(VerbStart, client.StateStarting, o.lastEnd())
}

func (d *planner) quarantined(a Action, o *Observed) Action {
	return a.until(d.quarantine(o), client.StateQuarantined,
		fmt.Sprintf("%s within %s, the last: %s", textfmt.Count(len(d.recent(o)), "failure"), textfmt.Duration(d.policy.RestartWindow), o.lastEnd()))
}

// changedSince reports whether the core of the configuration is certainly
// another one than that of the last instance.
func changedSince(s *Session, o *Observed) bool {
	return runtime.FingerprintCurrent(o.Stored.Core) && o.Stored.Core != s.Core
}

// recent returns the failures within the window.
func (d *planner) recent(o *Observed) []time.Time {
	from := d.now.Add(-d.policy.RestartWindow)
	return slices.DeleteFunc(slices.Clone(o.Failures), func(t time.Time) bool { return !t.After(from) })
}

// quarantine returns until when the session must not start, the zero time if it
// may.
func (d *planner) quarantine(o *Observed) time.Time {
	recent := d.recent(o)
	if d.policy.MaxRestarts <= 0 || len(recent) < d.policy.MaxRestarts {
		return time.Time{}
	}
	return recent[len(recent)-d.policy.MaxRestarts].Add(d.policy.RestartWindow)
}

// blockingLocation returns what keeps an agent from a new place: one identity never has
// two agents.
func (d *planner) blockingLocation(s *Session) string {
	for _, home := range d.locations[s.Agent] {
		if home.Provider == s.Provider && home.Name == s.Name {
			continue
		}
		if home.unknown() != "" || home.running() || home.orphaned() || home.Working != "" {
			return fmt.Sprintf("its previous session %s must end first", home.Name)
		}
	}
	return ""
}

// missingDependencyName returns which agent has to be ready before, empty if all are.
func (d *planner) missingDependencyName(s *Session) string {
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

// ready reports whether the session's start is complete, or its work done.
func (d *planner) ready(s *Session) bool {
	o := d.at(s)
	if o == nil || o.unknown() != "" || s.Suspended || o.Hold.Kind != "" {
		return false
	}
	if s.Config.Lifecycle == runtime.LifecycleOneShot {
		return o.finished() && !changedSince(s, o)
	}
	return o.running() && o.Managed && o.Working != VerbStart && !o.Working.Ends() && !o.draining()
}

func (d *planner) anyReady(p *pool) bool {
	return slices.ContainsFunc(p.Members, func(name string) bool {
		member := d.agents[name]
		return member != nil && d.ready(member)
	})
}

// limitSpread is the time over which sessions that wait for the same end of a
// limit start.
const limitSpread = time.Minute

// limited returns until when a limited session must not start.
func (d *planner) limited(s *Session, o *Observed) time.Time {
	over := o.Obstacle.ProbeAt
	if !o.NextAt.Before(over) {
		return o.NextAt // spread already, or no limit
	}
	return over.Add(jitterFor(limitSpread, s.Name, 0)) // not by the epoch: a start that is being saved has raised it
}

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
