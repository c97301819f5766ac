package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/usage"
	"gascity/internal/service/engine"
	"gascity/worker"
)

// The data keys of events about runs.
const (
	dataRun  = "run"
	dataBody = "body"
)

// record appends an event about what a worker has reported to the event log. If that fails, it only
// logs a warning, because the city has acted on the report already. The caller must not use data
// after the call.
func (e *Engine) record(ctx context.Context, a *liveRun, kind event.Kind, body any, data map[string]string) {
	if data == nil {
		data = make(map[string]string, 2)
	}
	data[dataRun] = a.id
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			e.opts.Logger.Warn("a report cannot be recorded", "session", a.session, "kind", kind, "error", err)
			return
		}
		data[dataBody] = string(text)
	}
	engine.Record(ctx, e.opts.Events, e.opts.Logger, client.Event{Kind: string(kind), Agent: a.agent, Session: a.session, Data: data})
}

// knownTransitions are the transitions that the engine handles. A transition that only a newer worker knows is recorded and not
// handled.
var knownTransitions = []worker.Transition{worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Stopping, worker.Stopped, worker.Crashed, worker.Errored}

// Lifecycle records a worker's report about the state of its agent, such as busy or stopped. It
// implements workerapi.Reports.
func (e *Engine) Lifecycle(ctx context.Context, id string, r worker.Lifecycle) (worker.LifecycleAnswer, error) {
	a, err := e.runByID(id)
	if err != nil {
		return worker.LifecycleAnswer{}, err
	}
	if r.Event == "" {
		return worker.LifecycleAnswer{}, fmt.Errorf("%w: event is missing", worker.ErrInvalid)
	}
	if !slices.Contains(knownTransitions, r.Event) {
		e.record(ctx, a, event.WorkerLifecycle, r, map[string]string{"late": "true"})
		return worker.LifecycleAnswer{Accepted: true, Late: true}, nil
	}
	now := e.opts.Now()
	wrong := e.clockError(a, r.Timestamp, now)
	if wrong != "" {
		r.Timestamp = now
	}
	a.mu.Lock()
	var late bool
	before := a.life.Last().Event
	a.life, late = a.life.Apply(r, now)
	if !late && r.Event == worker.Busy {
		a.failure = failure{}
	}
	a.lastReport = now
	a.clearCommandLocked(r, now)
	if !late {
		a.recordTurnLocked(r.Event, before, now)
	}
	if !late && (r.Event == worker.Started || r.Event == worker.Stopped || r.Event == worker.Crashed) {
		a.dropQuestionsLocked()
	}
	a.changeLocked()
	a.mu.Unlock()
	more := map[string]string{}
	if late {
		more["late"] = "true"
	}
	if wrong != "" {
		more["clock"] = wrong
	}
	e.record(ctx, a, event.WorkerLifecycle, r, more)
	e.opts.City.Sense(a.session)
	e.saveMemory(a)
	e.renew(ctx, a)
	e.checkPressure(ctx, a)
	if err := e.acknowledgeNamed(ctx, a, r.Metadata.PromptID, progressOf(r.Event)); err != nil {
		return worker.LifecycleAnswer{}, err // the worker repeats the report
	}
	if !late {
		if err := e.forwardHookReport(ctx, a, r, now); err != nil {
			return worker.LifecycleAnswer{}, err
		}
	}
	if r.Event == worker.Started {
		e.opts.Joined(a.session)
	}
	return worker.LifecycleAnswer{Accepted: true, Late: late}, nil
}

const (
	// clockSkew is how far the clock of a worker may differ from the controller's clock.
	clockSkew = 5 * time.Second
	// longestStart is how long before a controller first saw an instance its start may have begun.
	// It is used only for starts by an earlier controller.
	longestStart = 5 * time.Minute
)

// earliest returns a time before which nothing can have happened in the run: a few seconds or
// minutes before its start. Zero: the start is not known.
func (e *Engine) earliest(a *liveRun) time.Time {
	e.mu.Lock()
	minted := a.minted
	e.mu.Unlock()
	if !minted.IsZero() {
		return minted.Add(-clockSkew)
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil || v.StartedAt.IsZero() || v.Token != a.instance {
		return time.Time{}
	}
	return v.StartedAt.Add(-longestStart)
}

// clockError returns why the given time of a report cannot be right; "" if it can. If it cannot, the
// caller uses the time of arrival instead.
func (e *Engine) clockError(a *liveRun, at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case at.Before(e.earliest(a)):
		return "the time of the report, " + at.UTC().Format(time.RFC3339) + ", is before the start of the instance: the time of arrival counts"
	case at.After(now.Add(clockSkew)):
		return "the time of the report, " + at.UTC().Format(time.RFC3339) + ", is in the future: the time of arrival counts"
	}
	return ""
}

// progressOf returns what a report about the agent's state means for the prompt that the report
// names: busy means that its turn has started, idle that its turn has ended. Any other report
// returns "".
func progressOf(t worker.Transition) worker.Progress {
	switch t {
	case worker.Busy:
		return worker.Submitted
	case worker.Idle:
		return worker.Consumed
	default:
		return ""
	}
}

// Telemetry records telemetry events of a worker, such as usage, tool calls and compactions. It
// implements workerapi.Reports.
func (e *Engine) Telemetry(ctx context.Context, id string, t worker.Telemetry) (worker.TelemetryAnswer, error) {
	a, err := e.runByID(id)
	if err != nil {
		return worker.TelemetryAnswer{}, err
	}
	if len(t.Events) == 0 {
		return worker.TelemetryAnswer{}, fmt.Errorf("%w: there are no events", worker.ErrInvalid)
	}
	now := e.opts.Now()
	compactions := listReportedCompactions(t.Events, now) // before their times are corrected
	entries := entriesOf(a, t.Events, e.earliest(a), now)
	recorded := len(entries)
	if len(entries) > 0 {
		if recorded, err = e.opts.Spend(ctx, entries); err != nil {
			return worker.TelemetryAnswer{}, fmt.Errorf("%w: cannot store the usage: %w", worker.ErrUnavailable, err)
		}
	}
	bypassed, compacted := a.applyTelemetry(t.Events, compactions, now)
	e.record(ctx, a, event.WorkerTelemetry, t, nil)
	for _, call := range bypassed {
		e.opts.Logger.Error("a tool ran although it was not allowed", "session", a.session, "tool", call.Name)
		e.record(ctx, a, event.WorkerBypass, call, map[string]string{"tool": call.Name})
		e.handleBypass(a, call)
	}
	if compacted || len(bypassed) > 0 {
		e.saveMemory(a)
	}
	e.notifyExpiring(a, t.Events)
	e.renew(ctx, a) // before the prompts that wait for the end of a compaction
	e.opts.City.Sense(a.session)
	e.checkPressure(ctx, a)
	for i := range t.Events {
		if t.Events[i].Type != worker.TurnComplete {
			continue
		}
		if err := e.acknowledgeNamed(ctx, a, t.Events[i].PromptID, worker.Consumed); err != nil {
			return worker.TelemetryAnswer{}, err // the worker repeats the report; its usage counts once
		}
	}
	return worker.TelemetryAnswer{Recorded: recorded, Known: len(entries) - recorded}, nil
}

// entriesOf returns the usage entries of telemetry events. It corrects the times of the events in
// place: a missing time and a time in the future become now, and a time before earliest becomes
// earliest. The ID of an entry comes from the unchanged event, so a repeated event has the same ID.
func entriesOf(a *liveRun, events []worker.TelemetryEvent, earliest, now time.Time) []usage.Entry {
	var entries []usage.Entry
	for i := range events {
		entry, ok := usage.FromEvent(usage.Origin{Run: a.id, Session: a.session, Agent: a.agent}, events[i])
		switch at := events[i].Timestamp; {
		case at.IsZero() || at.After(now):
			events[i].Timestamp, entry.At = now, now
		case at.Before(earliest):
			events[i].Timestamp, entry.At = earliest, earliest
		}
		if ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// applyTelemetry applies telemetry events to the run. It returns the calls that ran although they
// were not allowed, and whether the conversation was compacted.
func (a *liveRun) applyTelemetry(events []worker.TelemetryEvent, compactions []compactionReport, now time.Time) (bypassed []worker.ToolCall, compacted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastReport = now
	for _, c := range compactions {
		compacted = a.compactedLocked(c, now) || compacted
	}
	for i := range events {
		ev := &events[i]
		a.recordEventLocked(ev, now)
		switch ev.Type {
		case worker.RateLimited:
			a.limited = time.Time{}
			if ev.Until != nil {
				a.limited = *ev.Until
			}
		case worker.Failure:
			a.failure = failure{text: ev.Message, retry: ev.Retry, at: now}
		default: // the usage of any event counts
		}
		if u := ev.ContextUsage; u != nil && *u >= 0 && *u <= 1 {
			a.usage = u
		}
		for _, call := range ev.ToolsCalled {
			if call.CallID != "" && (a.denied.Remove(call.CallID) || a.ranUnallowedLocked(call.CallID)) {
				bypassed = append(bypassed, call)
			}
		}
	}
	a.changeLocked()
	return bypassed, compacted
}

// Ack records a worker's acknowledgement of a message. It implements workerapi.Reports.
func (e *Engine) Ack(ctx context.Context, id string, ack worker.Ack) error {
	a, err := e.runByID(id)
	if err != nil {
		return err
	}
	switch ack.State {
	case worker.Received, worker.Submitted, worker.Consumed, worker.Refused, worker.Failed:
	default:
		return fmt.Errorf("%w: state %q is not one of received, submitted, consumed, refused, failed", worker.ErrInvalid, ack.State)
	}
	a.mu.Lock()
	a.lastReport = e.opts.Now()
	a.recordProgressLocked("an answer to a message", a.lastReport)
	message, news := a.mailbox.Ack(ack)
	if message == nil { // it was sent by an earlier controller
		news = a.mailbox.AckUnknown(ack) != nil
	}
	compacted := a.compactedOnRequestLocked(ack)
	a.changeLocked()
	a.mu.Unlock()
	if compacted {
		e.saveMemory(a)
	}
	e.renew(ctx, a)
	if news {
		e.record(ctx, a, event.WorkerAck, ack, nil)
		e.opts.City.Sense(a.session)
		e.recordTokenAck(a, ack)
	}
	e.checkPressure(ctx, a)
	if err := e.notifyWorked(ctx, a, ack.ID); err != nil {
		return err // the worker repeats it
	}
	return e.resendUnseenSections(ctx, a, ack.ID)
}

// ReportHealth records the health that a worker reported. It implements workerapi.Reports.
func (e *Engine) ReportHealth(ctx context.Context, id string, h worker.Health) error {
	a, err := e.runByID(id)
	if err != nil {
		return err
	}
	now := e.opts.Now()
	a.mu.Lock()
	h.RunID, h.Asked = a.id, true
	a.health, a.lastReport = h, now
	if h.Question != "" {
		a.mailbox.Ack(worker.Ack{ID: h.Question, State: worker.Consumed})
	}
	a.changeLocked()
	a.mu.Unlock()
	e.record(ctx, a, event.WorkerHealth, h, nil)
	return nil
}

// Interaction opens, changes or closes a question that the worker asks a person. It implements
// workerapi.Reports.
func (e *Engine) Interaction(ctx context.Context, id string, q worker.Interaction) (worker.InteractionAnswer, error) {
	a, err := e.runByID(id)
	if err != nil {
		return worker.InteractionAnswer{}, err
	}
	if strings.TrimSpace(q.ID) == "" {
		return worker.InteractionAnswer{}, fmt.Errorf("%w: id is missing", worker.ErrInvalid)
	}
	a.mu.Lock()
	a.lastReport = e.opts.Now()
	a.recordProgressLocked("a question", a.lastReport)
	name := ""
	switch q.Event {
	case worker.Raised:
		if slices.Contains(a.answered, q.ID) { // a late report: the question is closed
			break
		}
		name = a.raiseLocked(q).request
	case worker.Resolved:
		name = a.resolveLocked(q.ID)
	default:
		a.mu.Unlock()
		return worker.InteractionAnswer{}, fmt.Errorf("%w: event %q is neither raised nor resolved", worker.ErrInvalid, q.Event)
	}
	a.changeLocked()
	a.mu.Unlock()
	q.Input = nil // it may contain secrets
	e.record(ctx, a, event.WorkerInteraction, q, nil)
	e.opts.City.Sense(a.session)
	e.saveMemory(a)
	return worker.InteractionAnswer{ID: name}, nil
}
