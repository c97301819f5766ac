package workers

import (
	"slices"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// progress is what a worker reports of the progress in its agent's turn.
type progress struct {
	at    time.Time
	sign  string
	tools []toolCall // that were allowed and have not ended, the oldest first
	// unknown says that this controller has no report of the worker yet, in a turn that it
	// found: a tool may run.
	unknown bool
}

type toolCall struct{ id, tool string }

// maxTools bounds the calls of a run that are remembered as running.
const maxTools = 64

// signLocked records that the worker has reported progress.
func (a *liveRun) signLocked(sign string, now time.Time) {
	a.progress.at, a.progress.sign, a.progress.unknown = now, sign, false
}

// turnLocked records a report of the agent's lifecycle. No tool runs beyond the end of a turn.
func (a *liveRun) turnLocked(event, before worker.Transition, now time.Time) {
	a.signLocked("the report "+string(event), now)
	if event != worker.Busy || before != worker.Busy {
		a.progress.tools = nil
	}
}

// toolStartsLocked records that a call was allowed. One without a name cannot be followed.
func (a *liveRun) toolStartsLocked(c worker.Call, now time.Time) {
	a.signLocked("the start of the tool "+c.Tool, now)
	known := slices.ContainsFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.ID })
	if c.ID != "" && c.Tool != worker.Canary && !known && len(a.progress.tools) < maxTools {
		a.progress.tools = append(a.progress.tools, toolCall{c.ID, c.Tool})
	}
}

// eventLocked records an event of telemetry.
func (a *liveRun) eventLocked(ev *worker.TelemetryEvent, now time.Time) {
	a.signLocked("the report "+string(ev.Type), now)
	for _, c := range ev.ToolsCalled {
		a.signLocked("the end of the tool "+c.Name, now)
		a.progress.tools = slices.DeleteFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.CallID })
	}
}

// progressLocked returns what is known of the progress in the turn.
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
