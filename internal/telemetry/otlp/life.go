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

// life is what is known of a run.
type life struct {
	begun, busy  time.Time
	agent        string
	session      string
	conversation string
	provider     string // of the last response
	stopping     string // why the city ends it; empty: it does not
	over         bool   // its span is sent
	turns        int
	counted      map[string]map[usageKey]int64 // what responses have taken, by their names
}

// ending is how a run ended. The zero value is an end in order.
type ending struct {
	fault  string // error.type; empty: none
	reason string
}

// take returns the spans that an event ends.
func (f *fold) take(e client.Event) []span {
	kind := event.Kind(e.Kind)
	switch {
	case kind == event.SessionStartFailed:
		return f.replaced(e, "", ending{"start", e.Text})
	case kind == event.ControllerStopping && e.Data["scope"] == "city":
		for _, it := range f.runs {
			it.stopping = "the city ends"
		}
	}
	run := e.Data["run"]
	if run == "" {
		return nil
	}
	it := f.life(run, e)
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
		return f.replaced(e, run, ending{reason: "another instance has its place"})
	case event.SessionStopping:
		it.stopping = cmp.Or(e.Data["reason"], e.Text)
	case event.SessionStopFailed:
		it.stopping = ""
	case event.SessionExited, event.SessionLost, event.SessionStopped:
		it.since(e.Data["since"])
		how := it.ending(kind, e)
		return append(f.end(run, it, e, how), f.replaced(e, run, how)...)
	default: // it belongs to no span
	}
	return nil
}

// life returns what is known of a run, which an event may be the first to name.
func (f *fold) life(run string, e client.Event) *life {
	it := f.runs[run]
	if it == nil {
		if len(f.runs) >= maxRuns+maxEnded {
			clear(f.runs)
			f.ended = nil
		}
		it = &life{begun: e.Time, agent: e.Agent, session: e.Session}
		f.runs[run] = it
	}
	return it
}

// since takes the time at which the city says that a run has begun, if that is earlier
// than what is known.
func (it *life) since(stamp string) {
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.Before(it.begun) {
		it.begun = at
	}
}

// ending is how the city says that a run ended. The end of an agent with a stop request
// may be seen before its stop is over: its signal is no fault.
func (it *life) ending(kind event.Kind, e client.Event) ending {
	code, signal := e.Data["code"], e.Data["signal"]
	switch {
	case kind == event.SessionStopped:
		return ending{"", e.Data["reason"]}
	case it.stopping != "":
		return ending{"", it.stopping}
	case kind == event.SessionLost:
		return ending{"lost", e.Text}
	case signal != "" || code != "" && code != "0":
		return ending{"exit", cmp.Or(e.Data["exit"], e.Text)}
	}
	return ending{"", e.Text} // by itself, in order or for an unknown reason
}

// replaced ends the other runs of an event's session: it has one at a time. An empty one
// names none.
func (f *fold) replaced(e client.Event, run string, how ending) []span {
	var out []span
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		if it := f.runs[id]; id != run && it.session == e.Session && e.Session != "" && !it.over {
			out = append(out, f.end(id, it, e, how)...)
		}
	}
	return out
}

// end reports a run once. What is known of it is kept for a while: its end may be
// reported again, and reports of its last turn come late.
func (f *fold) end(run string, it *life, e client.Event, how ending) []span {
	if it.over {
		return nil
	}
	it.over = true
	if f.ended = append(f.ended, run); len(f.ended) > maxEnded {
		delete(f.runs, f.ended[0])
		f.ended = f.ended[1:]
	}
	s := span{
		TraceID: workerrun.TraceID(run), SpanID: workerrun.SpanID(run), Name: "invoke_agent " + it.agent, Kind: 1, Start: nanos(it.begun), End: nanos(later(it.begun, e.Time)),
		Attributes: append(it.common(run, "invoke_agent", e), attributes(map[string]string{"gascity.end": how.reason, "error.type": how.fault})...),
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

func (f *fold) lifecycle(run string, it *life, l worker.Lifecycle, e client.Event) []span {
	if c := l.Metadata.ConversationID; c != "" {
		it.conversation = c
	}
	switch l.Event {
	case worker.Busy:
		it.busy = e.Time
	case worker.Stopped, worker.Crashed:
		how := ending{reason: cmp.Or(it.stopping, l.Metadata.Reason)}
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

// common is what every span of a run says.
func (it *life) common(run, operation string, e client.Event) []attribute {
	return attributes(map[string]string{
		"gen_ai.operation.name": operation, "gen_ai.agent.name": it.agent, "gen_ai.agent.id": run, "gen_ai.conversation.id": it.conversation,
		"gen_ai.provider.name": it.provider, "gascity.run_id": run, "gascity.session": e.Session,
	})
}
