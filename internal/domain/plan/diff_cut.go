package plan

import (
	"cmp"
	"time"

	"gascity/client"
	"gascity/runtime"
)

const (
	cutReason = "its start was cut off by the end of the controller"
	// longPrompt is how many bytes a first prompt has at least that may have to be
	// typed, because it does not fit a command line.
	longPrompt = 64 << 10

	defaultStartTimeout = time.Minute
)

// cut decides about an agent whose start was not completed. It is taken over if
// nothing was left to do, or if all that was left can be done again; so is one
// that works, for it has been prompted. Any other is ended and started again: it
// is unknown which prompts it received.
func (d *differ) cut(a Action, s *Session, o *Observed) Action {
	due := o.AgeFrom.Add(cmp.Or(max(s.StartTimeout, 0), defaultStartTimeout))
	switch {
	case s.Config.Lifecycle == runtime.LifecycleOneShot, !s.Config.WantsManagedStart():
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.working():
		a.Cut = leftOpen(s)
		return a.with(VerbAdopt, client.StateRunning, cutReason+"; it is at work")
	case o.Seen.Attached > 0:
		return a.with(VerbWait, client.StateStarting, cutReason+"; it is ended once no terminal is attached")
	case o.resting() && !leftOpen(s):
		return a.with(VerbAdopt, client.StateRunning, cutReason+"; it is ready")
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateStarting, cutReason+"; the last stop failed: "+o.Fault)
	case d.now.Before(due) && !leftOpen(s):
		return a.until(due, client.StateStarting, cutReason+"; it may still become ready")
	}
	a.Cut, a.Unasked = true, true
	return a.with(VerbStop, client.StateStopping, cutReason)
}

// working reports whether the agent is seen to be in a turn of its own.
func (o *Observed) working() bool {
	switch o.Activity.State {
	case runtime.ActivityBusy, runtime.ActivityLimited, runtime.ActivityBackground:
		return true
	default:
		return false
	}
}

// leftOpen reports whether a start does something with the agent, once that runs,
// which must not be done twice.
func leftOpen(s *Session) bool {
	c := &s.Config
	return c.Nudge != "" || len(c.SessionSetup) > 0 || c.SessionSetupScript != "" || len(c.PromptSuffix) > longPrompt
}
