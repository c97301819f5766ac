package controller

import (
	"cmp"
	"fmt"
	"slices"

	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// snapshot returns the state of a session for components outside the controller. unknownReason is
// why nothing is known about the session; empty: its state is known.
func (e *entry) snapshot(a plan.Action, unknownReason string) session.Snapshot {
	running := e.running() && unknownReason == ""
	v := session.Snapshot{
		Agent: a.Agent, Session: a.Session, Provider: e.backend.provider, Desired: a.Desired,
		State: session.State(e.state(a)), Reason: a.Reason, Surplus: a.Surplus, Unknown: unknownReason, Epoch: e.rec.Epoch,
		StartedAt: e.rec.StartedAt, Conversation: e.rec.Conversation, Hold: e.rec.Hold, Draining: e.rec.IsDraining(),
		Attached: e.seen.Attached, LastInput: e.seen.LastInput, Obstacle: e.rec.Obstacle,
	}
	ends := a.Verb.Ends() || e.job != nil && (e.job.verb.Ends() || e.job.kind == jobInterrupt)
	starts := e.job != nil && e.job.verb == plan.VerbStart
	v.Running = running && !ends && !starts
	v.Ready = v.Running && e.known
	if running || starts {
		v.Token, v.Instance = e.rec.Token, e.rec.Instance
		v.Activity, v.Pending, v.ReadAt = e.sensing.activity, e.sensing.pending, e.sensing.readAt
	}
	v.Activity.State = cmp.Or(v.Activity.State, runtime.ActivityUnknown)
	return v
}

// Sense requests a new reading of a session's channels, for example after a person answered its
// question. It returns when the loop has received the request; the result appears in the snapshot.
func (c *Controller) Sense(name string) {
	c.post(func(l *loop) {
		if e, err := l.find(name); err == nil && e.running() {
			e.sensing.last = e.sensing.last.Add(reportGap - senseGap)
			l.sense(e)
		}
	})
}

// whyUnknown returns why nothing is known about the entry; empty if it is known.
func (e *entry) whyUnknown() string {
	why := cmp.Or(e.backend.health.WhyUnknown(e.rec.Session), e.unknownReason)
	if why == "" && e.seen.Session == runtime.Unknown {
		why = "it has not been observed yet"
	}
	return why
}

// listForeign returns the sessions that do not belong to this city, sorted.
func (l *loop) listForeign() []string {
	var out []string
	for _, p := range l.backends {
		for name := range p.foreign {
			out = append(out, fmt.Sprintf("%s: %s", p.selection, name))
		}
	}
	slices.Sort(out)
	return out
}
