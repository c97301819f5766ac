package plan

import (
	"cmp"
	"fmt"

	"gascity/client"
	"gascity/runtime"
)

// postponed reports whether the stop of an agent for a changed configuration has to wait, and returns the action that waits. It
// waits for the end of the turn, the answer to an open question and the detaching of every terminal. If the activity is unknown
// or not certain, it waits too, and after policy.AskAfter gc asks a person. If a person requested the change with o.Apply,
// nothing waits. a.Reason states what changed.
func (d *planner) postponed(a Action, o *Observed) (_ Action, waits bool) {
	if o.Apply {
		return a, false
	}
	wait := a
	wait.Postponed = true
	const now = " (gc apply --now does not wait)"
	if why := d.busyReason(o); why != "" && !o.Activity.Doubted {
		return wait.with(VerbWait, client.StateRunning, a.Reason+"; deferred "+why+now), true
	}
	if o.isResting() {
		return a, false
	}
	ask := latest(o.PostponedSince, o.Activity.Since, d.policy.ResumedAt).Add(cmp.Or(d.policy.AskAfter, defaultAskAfter))
	if o.PostponedSince.IsZero() {
		return wait.with(VerbWait, client.StateRunning, a.Reason+"; deferred while it is unknown what the agent does"+now), true
	}
	if d.now.Before(ask) {
		return wait.until(ask, client.StateRunning, a.Reason+"; deferred while it is unknown what the agent does"+now), true
	}
	wait.Ask = fmt.Sprintf("Stop %s now? %s. gc does not know whether it is busy.", a.Agent, capitalize(a.Reason))
	return wait.with(VerbWait, client.StateRunning, a.Reason+"; it is unknown what the agent does: answer with gc pending, or: gc apply --now "+a.Agent), true
}

// capitalize returns s with its first ASCII letter in upper case.
func capitalize(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// removed returns the action for a running session that is not configured any more.
func (d *planner) removed(a Action, o *Observed) Action {
	const reason = "it is not configured any more"
	a.Reason = reason
	switch {
	case o.Order == OrderKill:
		return a.with(VerbStop, client.StateStopping, "a stop was requested")
	case !o.Managed && o.Observation.Agent == runtime.Alive:
		return a.with(VerbAdopt, client.StateRunning, reason+"; it still runs")
	case o.IsDraining() && !o.Apply:
		return d.drained(a, o)
	}
	if wait, waits := d.postponed(a, o); waits {
		return wait
	}
	a.Unrequested = !o.Apply
	return d.stop(a, o, reason)
}
