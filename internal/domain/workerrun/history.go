package workerrun

import (
	"cmp"
	"slices"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// History is what a worker has reported about its run. Reports may come repeated, late
// and in any order: a life keeps the latest of each kind, and what follows is a
// function of those alone.
type History struct {
	Reports map[worker.Transition]worker.Lifecycle `json:"reports,omitempty"`
}

// skew is how far in the future a report may say that it happened; what is beyond
// is taken for the time of its arrival.
const skew = 5 * time.Second

// Apply returns the life after a report that came at the given time. late says that
// it changed nothing. A life is never changed in place.
func (l History) Apply(r worker.Lifecycle, at time.Time) (after History, late bool) {
	r = clipped(r)
	if r.Timestamp.IsZero() || r.Timestamp.After(at.Add(skew)) {
		r.Timestamp = at
	}
	if was, ok := l.Reports[r.Event]; ok && order(r, was) <= 0 {
		return l, true
	}
	r.Timestamp = l.uniqueTime(r)
	before := l.State()
	after = History{Reports: map[worker.Transition]worker.Lifecycle{r.Event: r}}
	for event, report := range l.Reports {
		if event != r.Event {
			after.Reports[event] = report
		}
	}
	return after, after.State() == before && before != r.Event
}

// uniqueTime returns the time of a report, moved behind those of other reports that have no
// number and the same time: with a clock of whole seconds a short turn would look
// like one that never ends.
func (l History) uniqueTime(r worker.Lifecycle) time.Time {
	at := r.Timestamp
	taken := map[int64]bool{}
	for event, report := range l.Reports {
		taken[report.Timestamp.UnixNano()] = taken[report.Timestamp.UnixNano()] || event != r.Event && report.Seq == 0
	}
	for r.Seq == 0 && taken[at.UnixNano()] {
		at = at.Add(1)
	}
	return at
}

// With returns the life with the reports of another one, as remembered.
func (l History) With(other History, at time.Time) History {
	for _, event := range []worker.Transition{worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Errored, worker.Stopping, worker.Stopped, worker.Crashed} {
		if r, ok := other.Reports[event]; ok {
			l, _ = l.Apply(r, at)
		}
	}
	return l
}

// order compares two reports by when they happened.
func order(a, b worker.Lifecycle) int {
	return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.Seq, b.Seq))
}

// State returns the transition that holds; empty if nothing was reported. An end holds
// until a later start; a start is over with the first word after it.
func (l History) State() worker.Transition {
	started, begun := l.Reports[worker.Started]
	since := func(r worker.Lifecycle) bool { return !begun || order(r, started) >= 0 }
	for _, end := range []worker.Transition{worker.Crashed, worker.Stopped, worker.Stopping} {
		if r, ok := l.Reports[end]; ok && since(r) {
			return end
		}
	}
	state := worker.Transition("")
	if begun {
		state = worker.Started
	}
	var last worker.Lifecycle
	for _, event := range []worker.Transition{worker.Ready, worker.Errored, worker.Idle, worker.Busy} {
		if r, ok := l.Reports[event]; ok && since(r) && (last.Event == "" || order(r, last) >= 0) {
			state, last = event, r
		}
	}
	return state
}

// Last returns the report of the state that holds; zero if nothing was reported.
func (l History) Last() worker.Lifecycle { return l.Reports[l.State()] }

// HasOffer reports whether the worker has offered an ability.
func (l History) HasOffer(ability string) bool {
	return slices.Contains(l.Reports[worker.Started].Metadata.Offers, ability)
}

// Conversation returns the model provider's id of the conversation, as reported
// last.
func (l History) Conversation() string {
	var last worker.Lifecycle
	for _, r := range l.Reports {
		if r.Metadata.ConversationID != "" && (last.Event == "" || order(r, last) > 0) {
			last = r
		}
	}
	return last.Metadata.ConversationID
}

// ContextUsage returns the fraction of the context that is used, as reported last; nil
// if it never was.
func (l History) ContextUsage() *float64 {
	var last worker.Lifecycle
	for _, r := range l.Reports {
		if r.Metadata.ContextUsage != nil && (last.Event == "" || order(r, last) > 0) {
			last = r
		}
	}
	return last.Metadata.ContextUsage
}

// Evidence returns what the life says of the agent's activity; not ok if it says nothing.
func (l History) Evidence(now time.Time) (runtime.Evidence, bool) {
	r := l.Last()
	e := runtime.Evidence{Source: runtime.SourceWorker, Since: r.Timestamp, At: now, Detail: "the worker says " + string(r.Event)}
	if r.Metadata.Via == worker.ViaHook {
		e.Source, e.Detail = runtime.SourceHook, "a hook says "+string(r.Event)
	}
	switch r.Event {
	case worker.Busy:
		e.Activity = runtime.ActivityBusy
	case worker.Ready:
		e.Activity = runtime.ActivityIdle
	case worker.Idle:
		e.Activity = runtime.ActivityIdle
		switch {
		case r.Metadata.Reason == worker.TurnLimited:
			e.Activity = runtime.ActivityLimited
		case r.Metadata.Background > 0:
			e.Activity = runtime.ActivityBackground
		}
	case worker.Started, worker.Stopping, worker.Stopped, worker.Crashed, worker.Errored:
		e.Activity = runtime.ActivityUnknown
		if end := l.End(); end != nil {
			e.Detail += ": " + end.String()
		}
	default:
		return runtime.Evidence{}, false
	}
	return e, true
}

// End returns how the agent ended by its worker's word, nil if it has not said that it has.
// It proves nothing of a process.
func (l History) End() *runtime.End {
	r := l.Last()
	if r.Event != worker.Stopped && r.Event != worker.Crashed {
		return nil
	}
	end := &runtime.End{At: r.Timestamp, Crashed: r.Event == worker.Crashed, Detail: r.Metadata.Reason}
	switch m := r.Metadata; {
	case m.Signal != "":
		end.Exit = &runtime.Exit{Code: -1, Signal: m.Signal, At: r.Timestamp}
	case m.ExitCode != nil:
		end.Exit = &runtime.Exit{Code: *m.ExitCode, At: r.Timestamp}
	}
	return end
}
