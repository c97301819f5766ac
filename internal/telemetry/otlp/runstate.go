package otlp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// runState is what is known of a run.
type runState struct {
	begun, busySince time.Time
	agent            string
	session          string
	conversation     string
	provider         string // of the last response
	stopping         string // why the city ends it; empty: it does not
	ended            bool   // its span is sent
	turns            int
	counted          map[string]map[usageKey]int64 // what responses have taken, by their names
}

// runEnd is how a run ended. The zero value is an end in order.
type runEnd struct {
	fault  string // error.type; empty: none
	reason string
}

// apply returns the spans that an event ends.
func (f *aggregator) apply(e client.Event) []span {
	kind := event.Kind(e.Kind)
	switch {
	case kind == event.SessionStartFailed:
		return f.endOtherRuns(e, "", runEnd{"start", e.Text})
	case kind == event.ControllerStopping && e.Data["scope"] == "city":
		for _, it := range f.runs {
			it.stopping = "the city ends"
		}
	}
	run := e.Data["run"]
	if run == "" {
		return nil
	}
	it := f.runFor(run, e)
	body := []byte(e.Data["body"])
	switch kind {
	case event.WorkerLifecycle:
		var l worker.Lifecycle
		if json.Unmarshal(body, &l) == nil {
			return f.lifecycle(run, it, l, e)
		}
	case event.WorkerTelemetry:
		var t worker.Telemetry
		if json.Unmarshal(body, &t) == nil {
			return f.telemetry(run, it, t, e)
		}
	case event.SessionStarted, event.SessionAdopted, event.SessionRelaunched:
		return f.endOtherRuns(e, run, runEnd{reason: "another instance has its place"})
	case event.SessionStopping:
		it.stopping = cmp.Or(e.Data["reason"], e.Text)
	case event.SessionStopFailed:
		it.stopping = ""
	case event.SessionExited, event.SessionLost, event.SessionStopped:
		it.updateStart(e.Data["since"])
		how := it.endReason(kind, e)
		return append(f.end(run, it, e, how), f.endOtherRuns(e, run, how)...)
	default: // it belongs to no span
	}
	return nil
}

// runFor returns what is known of a run, which an event may be the first to name.
func (f *aggregator) runFor(run string, e client.Event) *runState {
	it := f.runs[run]
	if it == nil {
		if len(f.runs) >= maxRuns+maxEnded {
			clear(f.runs)
			f.ended = nil
		}
		it = &runState{begun: e.Time, agent: e.Agent, session: e.Session}
		f.runs[run] = it
	}
	return it
}

// updateStart takes the time at which the city says that a run has begun, if that is earlier
// than what is known.
func (it *runState) updateStart(stamp string) {
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.Before(it.begun) {
		it.begun = at
	}
}

// endReason returns how the city says that a run ended. The end of an agent with a stop request
// may be seen before its stop is over: its signal is no fault.
func (it *runState) endReason(kind event.Kind, e client.Event) runEnd {
	code, signal := e.Data["code"], e.Data["signal"]
	switch {
	case kind == event.SessionStopped:
		return runEnd{"", e.Data["reason"]}
	case it.stopping != "":
		return runEnd{"", it.stopping}
	case kind == event.SessionLost:
		return runEnd{"lost", e.Text}
	case signal != "" || code != "" && code != "0":
		return runEnd{"exit", cmp.Or(e.Data["exit"], e.Text)}
	}
	return runEnd{"", e.Text} // by itself, in order or for an unknown reason
}

// endOtherRuns ends the other runs of an event's session: it has one at a time. An empty one
// names none.
func (f *aggregator) endOtherRuns(e client.Event, run string, how runEnd) []span {
	var out []span
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		if it := f.runs[id]; id != run && it.session == e.Session && e.Session != "" && !it.ended {
			out = append(out, f.end(id, it, e, how)...)
		}
	}
	return out
}

// end reports a run once. What is known of it is kept for a while: its end may be
// reported again, and reports of its last turn come late.
func (f *aggregator) end(run string, it *runState, e client.Event, how runEnd) []span {
	if it.ended {
		return nil
	}
	it.ended = true
	if f.ended = append(f.ended, run); len(f.ended) > maxEnded {
		delete(f.runs, f.ended[0])
		f.ended = f.ended[1:]
	}
	s := span{
		TraceID: workerrun.TraceID(run), SpanID: workerrun.SpanID(run), Name: "invoke_agent " + it.agent, Kind: 1, Start: nanos(it.begun), End: nanos(later(it.begun, e.Time)),
		Attributes: append(it.commonAttributes(run, "invoke_agent", e), attributes(map[string]string{"gascity.end": how.reason, "error.type": how.fault})...),
	}
	if how.fault != "" {
		s.Status = status{2, how.reason}
	}
	return []span{s}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (f *aggregator) lifecycle(run string, it *runState, l worker.Lifecycle, e client.Event) []span {
	if c := l.Metadata.ConversationID; c != "" {
		it.conversation = c
	}
	switch l.Event {
	case worker.Busy:
		it.busySince = e.Time
	case worker.Stopped, worker.Crashed:
		how := runEnd{reason: cmp.Or(it.stopping, l.Metadata.Reason)}
		if it.stopping != "" {
			return f.end(run, it, e, how)
		}
		if code := l.Metadata.ExitCode; l.Event == worker.Crashed || code != nil && *code != 0 || l.Metadata.Signal != "" {
			how.fault = "exit"
		}
		return f.end(run, it, e, how)
	default: // it begins and ends nothing
	}
	return nil
}

// commonAttributes returns what every span of a run says.
func (it *runState) commonAttributes(run, operation string, e client.Event) []attribute {
	return attributes(map[string]string{
		"gen_ai.operation.name": operation, "gen_ai.agent.name": it.agent, "gen_ai.agent.id": run, "gen_ai.conversation.id": it.conversation,
		"gen_ai.provider.name": it.provider, "gascity.run_id": run, "gascity.session": e.Session,
	})
}
