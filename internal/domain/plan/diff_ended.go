package plan

import (
	"time"

	"gascity/client"
	"gascity/runtime"
)

// endGrace is how long the remaining processes of an instance may take to exit by themselves after
// the agent reported its exit.
const endGrace = 10 * time.Second

// selfEnded returns the action for an instance that reported its own exit although a process of its
// session still runs. gc waits [endGrace] for that process and then stops it, before it starts
// another instance. gc does not stop the process while a terminal is attached or a question is open,
// or if the agent was active after the report.
func (d *planner) selfEnded(a Action, o *Observed) Action {
	reason := "its worker reports that " + endText(o.Ended) + ", but a process of its session still runs"
	due := latest(o.Ended.At.Add(endGrace), d.policy.graceEnd())
	switch {
	case o.Observation.Attached > 0:
		return a.with(VerbWait, client.StateRunning, reason+"; gc stops it when no terminal is attached")
	case o.activeTurn() != "" && o.Activity.Since.After(o.Ended.At):
		return a.with(VerbWait, client.StateRunning, reason+"; gc does not stop it, because the agent was active after its worker reported that")
	case o.Pending:
		return a.with(VerbWait, client.StateRunning, reason+"; gc does not stop it while a question is open")
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateStopping, reason+"; the last stop failed: "+o.Fault)
	case d.now.Before(due):
		return a.until(due, client.StateRunning, reason+"; it may be about to exit")
	}
	a.SelfEnded, a.Unrequested = true, true
	return a.with(VerbStop, client.StateStopping, reason)
}

// endText returns a clause that says how a run of an agent ended: "it exited with status 1", "it crashed" or "it ended". The text
// of an exit status does not begin with "it", so endText adds it.
func endText(e *runtime.End) string {
	if e.Exit != nil {
		return "it " + e.String()
	}
	return e.String()
}
