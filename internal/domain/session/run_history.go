package session

import (
	"cmp"
	"slices"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// RunHistory contains the latest report of each kind that a worker sent about its run. Reports may
// arrive late, more than once and in any order. Every method computes its result from these
// reports only.
type RunHistory struct {
	Reports map[worker.Transition]worker.Lifecycle `json:"reports,omitempty"`
}

// maxReportSkew is how far in the future the timestamp of a report may be. A later timestamp is
// replaced by the time of arrival.
const maxReportSkew = 5 * time.Second

// Apply returns the history after the report r, which arrived at the given time. late is true if a
// newer report of the same kind is already known, so that r changed nothing. l itself does not
// change.
func (l RunHistory) Apply(r worker.Lifecycle, at time.Time) (after RunHistory, late bool) {
	r = clipReport(r)
	if r.Timestamp.IsZero() || r.Timestamp.After(at.Add(maxReportSkew)) {
		r.Timestamp = at
	}
	if was, ok := l.Reports[r.Event]; ok && orderReports(r, was) <= 0 {
		return l, true
	}
	r.Timestamp = l.uniqueTime(r)
	before := l.State()
	after = RunHistory{Reports: map[worker.Transition]worker.Lifecycle{r.Event: r}}
	for event, report := range l.Reports {
		if event != r.Event {
			after.Reports[event] = report
		}
	}
	return after, after.State() == before && before != r.Event
}

// uniqueTime returns the timestamp of the report r. If another report without a sequence number
// has the same timestamp, uniqueTime moves it later by nanoseconds until it is unique. Otherwise,
// with a clock of whole seconds, a short turn would look like one that never ends.
func (l RunHistory) uniqueTime(r worker.Lifecycle) time.Time {
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

// With returns the history l with the reports of the history other added, as if they arrived at the
// time at.
func (l RunHistory) With(other RunHistory, at time.Time) RunHistory {
	for _, event := range []worker.Transition{worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Errored, worker.Stopping, worker.Stopped, worker.Crashed} {
		if r, ok := other.Reports[event]; ok {
			l, _ = l.Apply(r, at)
		}
	}
	return l
}

// orderReports compares two reports by timestamp, then by sequence number.
func orderReports(a, b worker.Lifecycle) int {
	return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.Seq, b.Seq))
}

// State returns the current transition; empty if nothing was reported. Crashed, Stopped and
// Stopping stay current until a later Started. Any later report replaces Started.
func (l RunHistory) State() worker.Transition {
	started, begun := l.Reports[worker.Started]
	since := func(r worker.Lifecycle) bool { return !begun || orderReports(r, started) >= 0 }
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
		if r, ok := l.Reports[event]; ok && since(r) && (last.Event == "" || orderReports(r, last) >= 0) {
			state, last = event, r
		}
	}
	return state
}

// Last returns the report of the current state; the zero value if nothing was reported.
func (l RunHistory) Last() worker.Lifecycle { return l.Reports[l.State()] }

// HasOffer reports whether the worker's report of its start listed this ability.
func (l RunHistory) HasOffer(ability string) bool {
	return slices.Contains(l.Reports[worker.Started].Metadata.Offers, ability)
}

// Conversation returns the conversation id of the model provider from the newest report that has
// one; empty if none has.
func (l RunHistory) Conversation() string {
	var last worker.Lifecycle
	for _, r := range l.Reports {
		if r.Metadata.ConversationID != "" && (last.Event == "" || orderReports(r, last) > 0) {
			last = r
		}
	}
	return last.Metadata.ConversationID
}

// ContextUsage returns the used fraction of the context window from the newest report that has
// one; nil if none has.
func (l RunHistory) ContextUsage() *float64 {
	var last worker.Lifecycle
	for _, r := range l.Reports {
		if r.Metadata.ContextUsage != nil && (last.Event == "" || orderReports(r, last) > 0) {
			last = r
		}
	}
	return last.Metadata.ContextUsage
}

// Evidence returns the agent's activity according to the current report. ok is false if nothing
// was reported.
func (l RunHistory) Evidence(now time.Time) (runtime.Evidence, bool) {
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

// End returns how the agent exited according to its worker; nil if the worker has not reported an
// exit. It does not prove that the process has exited.
func (l RunHistory) End() *runtime.End {
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
