package plan

import (
	"cmp"

	"gascity/client"
	"gascity/internal/config"
	"gascity/runtime"
)

// stall checks whether the agent is stalled: in a turn, without a sign of progress for longer than
// configured. If it is, stall returns the action a changed as the agent's stall policy says;
// otherwise it returns a. An agent with an open question, a limit, a running tool or an unknown
// activity is never stalled. An action that is already due is not changed.
func (d *planner) stall(a Action, s *Session, o *Observed) Action {
	if s.Stall.After <= 0 || a.Verb != VerbNone && a.Verb != VerbWait || o.cannotBeStalled() {
		return a
	}
	since := latest(o.Progress.At, o.Observation.LastInput)
	if !o.Progress.Screen {
		since = latest(since, o.Observation.LastActivity)
	}
	if due := latest(since.Add(s.Stall.After), d.policy.graceEnd()); d.now.Before(due) {
		a.After = earliest(a.After, due)
		return a
	}
	a.StalledSince = since
	const reason = "it shows no sign of progress in its turn"
	switch act := config.OnStall(s.Stall.Act); {
	case act != config.StallInterrupt && act != config.StallRestart, o.Observation.Attached > 0:
	case act == config.StallInterrupt && o.Progress.Interrupted.Before(since):
		a.Unrequested = true
		return a.with(VerbInterrupt, client.StateRunning, reason)
	case act == config.StallRestart && d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateRunning, reason+"; the last attempt to restart it failed: "+o.Fault)
	case act == config.StallRestart:
		a.Unrequested = true
		return a.with(VerbRestart, client.StateStopping, reason)
	}
	if a.Verb == VerbWait {
		return a.with(VerbWait, client.StateRunning, a.Reason+"; "+reason)
	}
	return a.with(VerbNone, client.StateRunning, reason+"; the last one: "+cmp.Or(o.Progress.Sign, "unknown"))
}

// cannotBeStalled reports whether the agent cannot be stalled: it is not in a turn, or its progress
// is not known.
func (o *Observed) cannotBeStalled() bool {
	return o.Activity.State != runtime.ActivityBusy || o.Pending || o.IsDraining() || o.Ended != nil ||
		o.Progress.Tool != "" || o.Progress.At.IsZero() || !o.Progress.Reported && o.Observation.LastActivity.IsZero()
}
