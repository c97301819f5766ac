package plan

import (
	"cmp"
	"time"

	"gascity/client"
	"gascity/runtime"
)

const (
	interruptedStartReason = "its start was interrupted because the controller stopped"
	// longPrompt is the length, in bytes, above which gc may have to type a first prompt because
	// it does not fit on a command line.
	longPrompt = 64 << 10

	defaultStartTimeout = time.Minute
)

// interruptedStart returns the action for an agent whose start was interrupted because the
// controller exited. gc adopts the agent if the rest of the start can be repeated, or if the agent
// already works, which shows that it has received its prompt. Any other agent is stopped and
// started again, because it is unknown which prompts it received.
func (d *planner) interruptedStart(a Action, s *Session, o *Observed) Action {
	due := o.StartedAt.Add(cmp.Or(max(s.StartTimeout, 0), defaultStartTimeout))
	switch {
	case s.Config.Lifecycle == runtime.LifecycleOneShot, !s.Config.WantsManagedStart():
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.isWorking():
		a.StartInterrupted = hasUnfinishedStart(s)
		return a.with(VerbAdopt, client.StateRunning, interruptedStartReason+"; it is at work")
	case o.Observation.Attached > 0:
		return a.with(VerbWait, client.StateStarting, interruptedStartReason+"; gc stops it when no terminal is attached")
	case o.isResting() && !hasUnfinishedStart(s):
		return a.with(VerbAdopt, client.StateRunning, interruptedStartReason+"; it is ready")
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateStarting, interruptedStartReason+"; the last stop failed: "+o.Fault)
	case d.now.Before(due) && !hasUnfinishedStart(s):
		return a.until(due, client.StateStarting, interruptedStartReason+"; it may still become ready")
	}
	a.StartInterrupted, a.Unrequested = true, true
	return a.with(VerbStop, client.StateStopping, interruptedStartReason)
}

// isWorking reports whether the agent is observed to work: busy, limited or working in the
// background.
func (o *Observed) isWorking() bool {
	switch o.Activity.State {
	case runtime.ActivityBusy, runtime.ActivityLimited, runtime.ActivityBackground:
		return true
	default:
		return false
	}
}

// hasUnfinishedStart reports whether the start of the session has steps after the launch of its
// agent that must not run twice, such as typing the first prompt.
func hasUnfinishedStart(s *Session) bool {
	c := &s.Config
	return c.Nudge != "" || len(c.SessionSetup) > 0 || c.SessionSetupScript != "" || len(c.PromptSuffix) > longPrompt
}
