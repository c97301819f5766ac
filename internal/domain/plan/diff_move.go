package plan

import (
	"cmp"
	"fmt"

	"gascity/client"
)

// previousLocation returns the session in which the agent still runs although it is now configured
// for another runtime provider or name; nil if there is none.
func (d *planner) previousLocation(s *Session) *Observed {
	for _, home := range d.locations[s.Agent] {
		if home.Key() != s.Key() && home.unknown() == "" && home.running() {
			return home
		}
	}
	return nil
}

// moveBlockedReason returns why an agent cannot move to the runtime provider that is configured
// for it, empty if it can.
func (d *planner) moveBlockedReason(s *Session, o *Observed) string {
	why := d.policy.Closed[s.Provider]
	if why == "" || s.Provider == o.Provider {
		return ""
	}
	return fmt.Sprintf("the new provider cannot be opened: %s; it stays at %s", why, o.Provider)
}

// planMove returns the action for a running session whose agent is now configured for another
// runtime provider or name: a stop, after which the agent starts there. It waits until the stop
// interrupts no work, and while nothing can be started at the new provider. ok is false if the
// agent does not move; then the session is stopped like one that is not configured.
func (d *planner) planMove(a Action, s *Session, o *Observed) (_ Action, ok bool) {
	w := d.targetFor(s, o)
	if o.Owner != OwnerThisCity || !o.running() || d.policy.Stopping {
		return a, false
	}
	why := d.moveBlockedReason(s, o)
	a.Desired, a.ReleaseHold, a.MovePending = w.desired, w.woken, true
	switch {
	case why != "" && w.surplus:
		return d.shrink(a, o, d.pools[s.Pool]), true
	case w.desired != client.DesiredRunning, o.Order == OrderKill:
		a.MovePending = false
		return d.ending(a, o, target{reason: cmp.Or(w.reason, "a stop was requested")}), why != ""
	case !o.Managed:
		a.StartInterrupted = o.StartInterrupted && hasUnfinishedStart(s)
		return a.with(VerbAdopt, client.StateRunning, cmp.Or(why, "it runs already")), true
	case o.IsDraining():
		return d.drained(a, o), true
	case why != "" && (o.Order == OrderRestart || !o.Renew.IsZero()):
		return a.with(VerbWait, client.StateRunning, "a restart was requested; "+why), true
	case why != "":
		return a.with(VerbNone, client.StateRunning, why), true
	}
	a.Reason = "it moves to " + s.Provider
	if s.Provider == o.Provider {
		a.Reason = "it is renamed to " + s.Agent
	}
	if wait, waits := d.postponed(a, o); waits && o.Order != OrderRestart {
		return wait, true
	}
	a.Desired, a.MovePending, a.Unrequested = client.DesiredAbsent, false, o.Order == OrderNone && !o.Apply
	return d.stop(a, o, a.Reason), true
}
