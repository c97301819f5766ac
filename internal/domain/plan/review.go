package plan

import (
	"time"

	"gascity/client"
)

// Review decides again about one running session after its activity or its attached terminals
// changed. If ok is true, a is what [Diff] would return, and nothing has to be done. If ok is
// false, call Diff instead: the session needs an action, or the decision depends on other sessions.
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
