package plan

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// busyReason returns why a stop of the session could interrupt work, as a clause such as "while a
// terminal is attached"; empty if it could not.
func (d *planner) busyReason(o *Observed) string {
	switch turn := o.activeTurn(); {
	case o.Observation.Attached > 0:
		return "while a terminal is attached"
	case o.Pending:
		return "while a question is open"
	case turn != "":
		return "while the agent is " + turn
	case o.Activity.Doubted:
		return "while the agent's activity cannot be read"
	}
	return ""
}

// activeTurn returns a word for the agent's activity if a stop would interrupt work, such as
// "busy"; empty if it is idle, ready or unknown.
func (o *Observed) activeTurn() string {
	switch o.Activity.State {
	case runtime.ActivityBusy, runtime.ActivityWaiting, runtime.ActivityLimited:
		return string(o.Activity.State)
	case runtime.ActivityBackground:
		return "at work in the background"
	default:
		return ""
	}
}

// isResting reports whether the agent is observed to be idle or ready.
func (o *Observed) isResting() bool {
	return o.Activity.State == runtime.ActivityIdle || o.Activity.State == runtime.ActivityReady
}

// quietAt returns when the session will have printed and received nothing for policy.Quiet. It
// returns the zero time if that is already so, or if the time of the last output is unknown.
func (d *planner) quietAt(o *Observed) time.Time {
	last := latest(o.Observation.LastActivity, o.Observation.LastInput)
	if quiet := last.Add(d.policy.Quiet); !last.IsZero() && d.now.Before(quiet) {
		return quiet
	}
	return time.Time{}
}

// hasTimedOut reports whether the deadline has passed. It returns false for a zero deadline, and
// for one patrol interval after the host resumed from a suspend.
func (d *planner) hasTimedOut(deadline time.Time) bool {
	return !deadline.IsZero() && !d.now.Before(deadline) && !d.now.Before(d.policy.graceEnd())
}

// drained returns the action for a draining session, which was asked to finish its work: a stop
// when the agent has acknowledged or the deadline has passed, otherwise a wait.
func (d *planner) drained(a Action, o *Observed) Action {
	reason := appendReason("it was asked to finish its work", o.Drain.Reason)
	switch {
	case !o.Drain.Acked.IsZero():
		return d.stop(a, o, appendReason("it has finished its work", o.Drain.Reason))
	case d.hasTimedOut(o.Drain.Deadline):
		return d.stop(a, o, appendReason("it did not finish its work in time", o.Drain.Reason))
	case o.Drain.Deadline.IsZero():
		return a.with(VerbWait, client.StateDraining, reason)
	}
	return a.until(latest(o.Drain.Deadline, d.policy.graceEnd()), client.StateDraining, reason)
}

// restartOnRequest returns a restart for an agent that requested one. It returns a wait while the
// agent is busy, until the time of the next attempt (StopAt) after one that failed, and until the
// agent has been quiet for some time.
func (d *planner) restartOnRequest(a Action, o *Observed) Action {
	const reason = "the agent requested a restart"
	if why := d.busyReason(o); why != "" {
		return a.with(VerbWait, client.StateRunning, reason+"; deferred "+why)
	}
	if d.now.Before(o.StopAt) {
		return a.until(o.StopAt, client.StateRunning, reason+"; the last attempt failed: "+o.Fault)
	}
	if quiet := d.quietAt(o); !quiet.IsZero() && o.Activity.State != runtime.ActivityIdle {
		return a.until(quiet, client.StateRunning, reason+"; deferred until the agent is quiet")
	}
	return a.with(VerbRestart, client.StateStopping, reason)
}

// checkIdleAndAge returns the action for a session that runs as configured: a restart if it is
// older than its maximum age, a stop if it has been idle for so long that it goes to sleep,
// otherwise none.
func (d *planner) checkIdleAndAge(a Action, s *Session, o *Observed) Action {
	a, done := d.age(a, s, o)
	if done || s.IdleAfter <= 0 || s.Pool != "" {
		return a
	}
	since := d.idleSince(o)
	if since.IsZero() {
		return a
	}
	due := latest(since.Add(s.IdleAfter), d.policy.graceEnd())
	if d.now.Before(due) {
		a.After = earliest(a.After, due)
		return a
	}
	reason := fmt.Sprintf("it has been idle for %v", s.IdleAfter)
	switch why := d.busyReason(o); {
	case why != "":
		return a.with(VerbWait, client.StateRunning, reason+"; it keeps running "+why)
	case d.wakeReason(s, o) != "":
		return a.with(VerbWait, client.StateRunning, reason+"; it keeps running, because "+d.wakeReason(s, o))
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateRunning, reason+"; the last stop failed: "+o.Fault)
	}
	a.Unrequested, a.Hold = true, session.Hold{Kind: session.HoldSleep, Reason: reason, Since: d.now}
	return a.with(VerbStop, client.StateStopping, reason)
}

// idleSince returns the time since which the session has certainly been idle; the zero time if it
// is not idle or its activity is unknown. If the agent reports that it is idle, its output after
// that does not count; otherwise the time of its last output counts.
func (d *planner) idleSince(o *Observed) time.Time {
	if o.activeTurn() != "" || o.Activity.Doubted {
		return time.Time{}
	}
	since := o.Observation.LastActivity
	switch o.Activity.State {
	case runtime.ActivityIdle:
		since = o.Activity.Since
	case runtime.ActivityReady:
		since = latest(since, o.Activity.Since)
	default:
	}
	if since.IsZero() {
		return since
	}
	return latest(since, o.Observation.LastInput, o.IdleSince, o.StartedAt, d.policy.ResumedAt)
}

// age returns the action for a session that has reached its maximum age: a restart, or a wait until
// that interrupts no work. done is false if the session is not that old.
func (d *planner) age(a Action, s *Session, o *Observed) (_ Action, done bool) {
	if s.MaxAge <= 0 || o.StartedAt.IsZero() {
		return a, false
	}
	due := latest(o.StartedAt.Add(s.MaxAge+jitterFor(s.MaxAgeJitter, s.Name, o.Epoch)), d.policy.graceEnd())
	if d.now.Before(due) {
		a.After = earliest(a.After, due)
		return a, false
	}
	reason := fmt.Sprintf("it is older than %v", s.MaxAge)
	if why := d.busyReason(o); why != "" {
		return a.with(VerbWait, client.StateRunning, reason+"; deferred "+why), true
	}
	if d.now.Before(o.StopAt) {
		return a.until(o.StopAt, client.StateRunning, reason+"; the last attempt failed: "+o.Fault), true
	}
	if quiet := d.quietAt(o); !quiet.IsZero() {
		return a.until(quiet, client.StateRunning, reason+"; deferred until the agent is quiet"), true
	}
	a.Unrequested = true
	return a.with(VerbRestart, client.StateStopping, reason), true
}

// latest returns the latest of the times; the zero time if there is none.
func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// earliest returns the earlier of two times. A zero time is ignored.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
