package plan

import (
	"fmt"

	"gascity/client"
	"gascity/internal/domain/session"
)

// limitDisruptions changes restarts for a changed configuration to waits if more than policy.Disruptions sessions would be down
// at the same time.
func (d *planner) limitDisruptions(actions []Action) {
	left := max(1, d.policy.Disruptions)
	for _, o := range d.observed {
		if o.isDisrupted() {
			left--
		}
	}
	for i := range actions {
		a := &actions[i]
		if !a.Drifted || !a.Verb.Ends() || d.observed[a.Key()].isDisrupted() {
			continue // a disrupted one is counted already
		}
		if left--; left < 0 {
			a.Unrequested, a.Postponed = false, false
			*a = a.with(VerbWait, client.StateRunning, a.Reason+"; it waits for the restarts of other agents")
		}
	}
}

// isDisrupted reports whether the session was stopped or relaunched for a changed configuration and does not run again yet. It
// returns false if o is nil.
func (o *Observed) isDisrupted() bool { return o != nil && (o.Disrupted || o.Working == VerbRelaunch) }

// limitCounts changes starts to waits if they would exceed the maximum number of sessions of a
// pool or of the city. Every session that may be alive counts.
func (d *planner) limitCounts(actions []Action) {
	live := 0
	for at, o := range d.observed {
		if d.mayBeOurs(at, o) && o.mayBeRunning() {
			live++
		}
	}
	for i := range actions {
		a := &actions[i]
		if a.Verb != VerbStart {
			continue
		}
		s := d.sessions[a.Key()]
		p := d.pools[s.Pool]
		switch {
		case p != nil && p.live >= p.Max:
			*a = a.with(VerbWait, client.StateStopped, fmt.Sprintf("the pool %s already has its maximum of %d members", p.Agent, p.live))
		case d.maxSessions > 0 && live >= d.maxSessions:
			*a = a.with(VerbWait, client.StateStopped, fmt.Sprintf("the city already runs its maximum of %d sessions", live))
		default:
			live++
			if p != nil {
				p.live++
			}
		}
	}
}

// freeze changes every action that starts, stops or changes something to a wait while
// policy.Frozen is set, because its result could not be stored. Adoptions and stops that a person
// requested stay as they are.
func (d *planner) freeze(actions []Action) {
	if d.policy.Frozen == "" || d.policy.Stopping {
		return
	}
	for i := range actions {
		a := &actions[i]
		a.Rebaseline, a.ReleaseHold = false, false
		o := d.observed[a.Key()]
		if !a.Verb.Acts() || a.Verb == VerbAdopt || a.Verb == VerbStop && o.Order == OrderKill {
			continue
		}
		state := client.StateStopped
		if o.running() {
			state = client.StateRunning
		}
		frozen := a.with(VerbWait, state, fmt.Sprintf("frozen: %s; pending action: %s, %s", d.policy.Frozen, a.Verb, a.Reason))
		frozen.Drain, frozen.Hold, frozen.Unrequested, frozen.Ask = session.Drain{}, session.Hold{}, false, ""
		*a = frozen
	}
}
