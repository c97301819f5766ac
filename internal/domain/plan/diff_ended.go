package plan

import (
	"time"

	"gascity/client"
	"gascity/runtime"
)

// endGrace is how long what is left of an instance has to end by itself after its
// agent said that it has ended.
const endGrace = 10 * time.Second

// selfEnded decides about an instance that has ended by its own word, and whose place
// still shows a process. It is ended for good before anything takes its place, unless
// it has shown since that it lives, or a person is there.
func (d *planner) selfEnded(a Action, o *Observed) Action {
	reason := "its worker says that " + endText(o.Ended) + ", and a process of its place still runs"
	due := latest(o.Ended.At.Add(endGrace), d.policy.graceEnd())
	switch {
	case o.Observation.Attached > 0:
		return a.with(VerbWait, client.StateRunning, reason+"; it is ended once no terminal is attached")
	case o.activeTurn() != "" && o.Activity.Since.After(o.Ended.At), o.Pending:
		return a.with(VerbWait, client.StateRunning, reason+"; it is left alone, for it has shown since that it lives")
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateStopping, reason+"; the last stop failed: "+o.Fault)
	case d.now.Before(due):
		return a.until(due, client.StateRunning, reason+"; it may be about to end")
	}
	a.SelfEnded, a.Unrequested = true, true
	return a.with(VerbStop, client.StateStopping, reason)
}

// endText returns an end in the words of a sentence.
func endText(e *runtime.End) string {
	if e.Exit != nil {
		return "it " + e.String()
	}
	return e.String()
}
