package telemetry

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// runState is the known state of a run.
type runState struct {
	begun, busySince time.Time
	agent            string
	session          string
	conversation     string
	provider         string // model provider of the last response
	stopping         string // reason why the city stops the run; empty if it does not
	ended            bool   // whether its span was returned
	turns            int
	counted          map[string]map[usageKey]int64 // tokens of each response, by the message ID of the response
}

// runEnd describes how a run ended. The zero value is a normal end.
type runEnd struct {
	fault  string // value of error.type; empty if there was no error
	reason string
}

// apply processes an event and returns the spans that end with it.
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
	default: // the event belongs to no span
	}
	return nil
}

// runFor returns the state of a run, and creates it at the first event of the run.
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

// updateStart sets the start time of the run to stamp if that is earlier than the known start.
func (it *runState) updateStart(stamp string) {
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.Before(it.begun) {
		it.begun = at
	}
}

// endReason returns how a run ended, according to the city. If the city was stopping the agent, the exit is no error, even if
// it is reported before the stop has finished.
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
	return runEnd{"", e.Text} // it ended by itself, normally or for an unknown reason
}

// endOtherRuns ends all runs of the event's session except run, because a session has one run at a time. An empty run ends all.
func (f *aggregator) endOtherRuns(e client.Event, run string, how runEnd) []span {
	var out []span
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		if it := f.runs[id]; id != run && it.session == e.Session && e.Session != "" && !it.ended {
			out = append(out, f.end(id, it, e, how)...)
		}
	}
	return out
}

// end returns the span of a run, once. The state of the run is stored for a while, because its end may be reported again and
// reports of its last turn may arrive late.
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
		TraceID: session.TraceID(run), SpanID: session.SpanID(run), Name: "invoke_agent " + it.agent, Kind: 1, Start: nanos(it.begun), End: nanos(slices.MaxFunc([]time.Time{it.begun, e.Time}, time.Time.Compare)),
		Attributes: append(it.commonAttributes(run, "invoke_agent", e), attributes(map[string]string{"gascity.end": how.reason, "error.type": how.fault})...),
	}
	if how.fault != "" {
		s.Status = status{2, how.reason}
	}
	return []span{s}
}

// lifecycle processes a lifecycle report of a worker and returns the span of the run if it has ended.
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
	default: // other events change no span
	}
	return nil
}

// commonAttributes returns the attributes that every span of a run has.
func (it *runState) commonAttributes(run, operation string, e client.Event) []attribute {
	return attributes(map[string]string{
		"gen_ai.operation.name": operation, "gen_ai.agent.name": it.agent, "gen_ai.agent.id": run, "gen_ai.conversation.id": it.conversation,
		"gen_ai.provider.name": it.provider, "gascity.run_id": run, "gascity.session": e.Session,
	})
}
