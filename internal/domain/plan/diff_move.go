package plan

import (
	"cmp"
	"fmt"

	"gascity/client"
)

// former returns where an agent runs that is configured for another place, nil if it
// does not.
func (d *differ) former(s *Session) *Observed {
	for _, home := range d.homes[s.Agent] {
		if (home.Provider != s.Provider || home.Name != s.Name) && home.unknown() == "" && home.running() {
			return home
		}
	}
	return nil
}

// stays says why an agent goes on where it is although another place is configured,
// empty if it does not: nothing can be started there.
func (d *differ) stays(s *Session, o *Observed) string {
	why := d.policy.Closed[s.Provider]
	if why == "" || s.Provider == o.Provider {
		return ""
	}
	return fmt.Sprintf("the new place cannot be opened: %s; it stays at %s", why, o.Provider)
}

// moved decides about a session whose agent is configured for another place. It is not
// ended in the middle of something; as long as nothing can be started there, what would
// have to start it again waits altogether. ok is false if it is to end like any other
// that is not configured.
func (d *differ) moved(a Action, s *Session, o *Observed) (_ Action, ok bool) {
	w := d.wants(s, o)
	if o.Owner != OwnerUs || !o.running() || d.policy.Stopping {
		return a, false
	}
	why := d.stays(s, o)
	a.Desired, a.Woken, a.Stays = w.desired, w.woken, true
	switch {
	case why != "" && w.surplus:
		return d.shrink(a, o, d.pools[s.Pool]), true
	case w.desired != DesiredRunning, o.Order == OrderKill:
		a.Stays = false
		return d.ending(a, o, want{reason: cmp.Or(w.reason, "its end was asked for")}), why != ""
	case !o.Known:
		a.Cut = o.Cut && leftOpen(s)
		return a.with(VerbAdopt, client.StateRunning, cmp.Or(why, "it runs already")), true
	case o.draining():
		return d.drained(a, o), true
	case why != "" && (o.Order == OrderRestart || !o.Renew.IsZero()):
		return a.with(VerbWait, client.StateRunning, "a restart was asked for; "+why), true
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
	a.Desired, a.Stays, a.Unasked = DesiredAbsent, false, o.Order == OrderNone && !o.Apply
	return d.stop(a, o, a.Reason), true
}
