package workers

import (
	"slices"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// progress is the progress in the agent's turn, as the worker reports it.
type progress struct {
	at    time.Time
	sign  string
	tools []toolCall // calls that were allowed and have not ended, oldest first
	// unknown means that the turn started under an earlier controller and this controller has no
	// report from the worker yet: a tool may be running.
	unknown bool
}

type toolCall struct{ id, tool string }

// maxTools is the largest number of running calls that are kept for a run.
const maxTools = 64

// recordProgressLocked records that the worker has reported progress, and by which sign. The caller
// holds mu.
func (a *liveRun) recordProgressLocked(sign string, now time.Time) {
	a.progress.at, a.progress.sign, a.progress.unknown = now, sign, false
}

// recordTurnLocked records a report about the agent's state as progress. before is the state before
// the report. At the start and the end of a turn no tool is running. The caller holds mu.
func (a *liveRun) recordTurnLocked(event, before worker.Transition, now time.Time) {
	a.recordProgressLocked("the report "+string(event), now)
	if event != worker.Busy || before != worker.Busy {
		a.progress.tools = nil
	}
}

// recordToolStartLocked records that a tool call was allowed and is running now. A call without an
// ID counts as progress only, because its end could not be recognized. The caller holds mu.
func (a *liveRun) recordToolStartLocked(c worker.Call, now time.Time) {
	a.recordProgressLocked("the start of the tool "+c.Tool, now)
	known := slices.ContainsFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.ID })
	if c.ID != "" && c.Tool != worker.Canary && !known && len(a.progress.tools) < maxTools {
		a.progress.tools = append(a.progress.tools, toolCall{c.ID, c.Tool})
	}
}

// recordEventLocked records a telemetry event as progress, and removes the calls that it reports
// from the running calls.
func (a *liveRun) recordEventLocked(ev *worker.TelemetryEvent, now time.Time) {
	a.recordProgressLocked("the report "+string(ev.Type), now)
	for _, c := range ev.ToolsCalled {
		a.recordProgressLocked("the end of the tool "+c.Name, now)
		a.progress.tools = slices.DeleteFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.CallID })
	}
}

// progressLocked returns the progress of the agent in its turn, as the worker reported it. The
// caller holds mu.
func (a *liveRun) progressLocked() runtime.Progress {
	p := runtime.Progress{At: a.progress.at, Sign: a.progress.sign}
	switch {
	case len(a.progress.tools) > 0:
		p.Tool = a.progress.tools[0].tool
	case a.progress.unknown && a.life.Last().Event == worker.Busy:
		p.Tool = "a tool that was started under an earlier controller, perhaps"
	}
	return p
}
