package controller

import (
	"cmp"
	"fmt"
	"slices"

	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// view returns the entry as those see it who deal with it beside the controller.
func (e *entry) view(a plan.Action, blind string) session.Snapshot {
	running := e.running() && blind == ""
	v := session.Snapshot{
		Agent: a.Agent, Session: a.Session, Provider: e.backend.provider, Desired: a.Desired,
		State: session.State(e.state(a)), Reason: a.Reason, Surplus: a.Surplus, Unknown: blind, Epoch: e.rec.Epoch,
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

// Sense asks for a fresh reading of a session, such as after an answer was given to it or its side has
// reported something: sooner than for what it prints. It never blocks for long and never fails: the
// answer is in the view.
func (c *Controller) Sense(name string) {
	f := func(l *loop) {
		if e, err := l.find(name); err == nil && e.running() {
			e.sensing.last = e.sensing.last.Add(reportGap - senseGap)
			l.sense(e)
		}
	}
	select {
	case c.calls <- f:
	case <-c.ended:
	}
}

// whyUnknown returns why nothing is known of the entry, empty if something is.
func (e *entry) whyUnknown() string {
	why := cmp.Or(e.backend.health.WhyUnknown(e.rec.Session), e.unknownReason)
	if why == "" && e.seen.Session == runtime.Unknown {
		why = "it has not been observed yet"
	}
	return why
}

// listForeign describes what is there and not this city's, sorted.
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
