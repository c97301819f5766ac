package plan

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// busyReason returns what keeps a session from being ended without harm, empty if
// nothing does.
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

// activeTurn returns the word of an activity that must not be cut off, empty for any
// other.
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

// isResting reports whether the agent is seen to take input: idle, or ready.
func (o *Observed) isResting() bool {
	return o.Activity.State == runtime.ActivityIdle || o.Activity.State == runtime.ActivityReady
}

// quietAt returns when the session has been silent for long enough, the zero
// time if it has, or if its last activity is unknown.
func (d *planner) quietAt(o *Observed) time.Time {
	last := latest(o.Observation.LastActivity, o.Observation.LastInput)
	if quiet := last.Add(d.policy.Quiet); !last.IsZero() && d.now.Before(quiet) {
		return quiet
	}
	return time.Time{}
}

// hasTimedOut reports whether a timeout has passed. None has while the host has just
// come back from a suspend.
func (d *planner) hasTimedOut(deadline time.Time) bool {
	return !deadline.IsZero() && !d.now.Before(deadline) && !d.now.Before(d.policy.graceEnd())
}

// drained decides about a session that was asked to wind down.
func (d *planner) drained(a Action, o *Observed) Action {
	reason := appendReason("it is to wind down", o.Drain.Reason)
	switch {
	case !o.Drain.Acked.IsZero():
		return d.stop(a, o, appendReason("it has wound down", o.Drain.Reason))
	case d.hasTimedOut(o.Drain.Deadline):
		return d.stop(a, o, appendReason("its time to wind down is over", o.Drain.Reason))
	case o.Drain.Deadline.IsZero():
		return a.with(VerbWait, client.StateDraining, reason)
	}
	return a.until(latest(o.Drain.Deadline, d.policy.graceEnd()), client.StateDraining, reason)
}

// restartOnRequest restarts an agent that asked for it, once its turn is over.
func (d *planner) restartOnRequest(a Action, o *Observed) Action {
	const reason = "it asked for a restart"
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

// checkIdleAndAge decides about a session that runs as it should: whether it has become
// too old, or has been idle for too long.
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
		return a.with(VerbWait, client.StateRunning, reason+"; it stays "+why)
	case d.wakeReason(s, o) != "":
		return a.with(VerbWait, client.StateRunning, reason+"; it stays, for "+d.wakeReason(s, o))
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateRunning, reason+"; the last stop failed: "+o.Fault)
	}
	a.Unrequested, a.Hold = true, session.Hold{Kind: session.HoldSleep, Reason: reason, Since: d.now}
	return a.with(VerbStop, client.StateStopping, reason)
}

// idleSince returns since when nothing has been going on in a session for
// certain; the zero time if something is, or if it is unknown. An idle agent
// says so itself, and what it draws then does not count. Of any other only
// silence counts.
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
	return latest(since, o.Observation.LastInput, o.IdleSince, o.AgeFrom, d.policy.ResumedAt)
}

// age decides about a session that may be too old. done says that there is
// nothing else to decide.
func (d *planner) age(a Action, s *Session, o *Observed) (_ Action, done bool) {
	if s.MaxAge <= 0 || o.AgeFrom.IsZero() {
		return a, false
	}
	due := latest(o.AgeFrom.Add(s.MaxAge+jitterFor(s.MaxAgeJitter, s.Name, o.Epoch)), d.policy.graceEnd())
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

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// earliest returns the earlier of two times; the zero time is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
