package plan

import (
	"time"

	"gascity/client"
)

// Review computes the action of a running session again after its activity or its attached
// terminals changed. The result is the same as that of [Diff]. ok is false if the decision needs
// more than the session itself: a pool, a limit of the city, or an action.
func Review(before Action, s *Session, o *Observed, now time.Time, policy Policy) (a Action, ok bool) {
	switch {
	case before.Desired != client.DesiredRunning || before.Verb.Acts() || before.ReleaseHold || policy.Stopping || policy.Frozen != "",
		s.Suspended || s.Pool != "" || o.Hold.Kind != "",
		o.Working != "" || o.unknown() != "" || !o.running() || !o.Managed || o.StartInterrupted || o.Order != OrderNone || o.Owner == OwnerOther:
		return before, false
	}
	d := &planner{now: now, policy: policy}
	a = d.running(Action{Verb: VerbNone, Agent: s.Agent, Session: s.Name, Provider: s.Provider, Desired: client.DesiredRunning}, s, o)
	return a, !a.Verb.Acts()
}
