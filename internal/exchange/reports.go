package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gascity/client"
	"gascity/internal/event"
	"gascity/internal/usage"
	"gascity/worker"
)

// The keys of the data of events about runs.
const (
	dataRun  = "run"
	dataBody = "body"
)

// record puts a report into the city's time line. What cannot be recorded is logged:
// a report has happened whether it is written down or not.
func (e *Engine) record(a *active, kind event.Kind, body any, more map[string]string) {
	data := map[string]string{dataRun: a.id}
	for key, value := range more {
		data[key] = value
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			e.opts.Logger.Warn("a report cannot be recorded", "session", a.session, "kind", kind, "error", err)
			return
		}
		data[dataBody] = string(text)
	}
	if _, err := e.opts.Events.Append(client.Event{Kind: string(kind), Agent: a.agent, Session: a.session, Data: data}); err != nil {
		e.opts.Logger.Warn("a report cannot be recorded", "session", a.session, "kind", kind, "error", err)
	}
}

// known transitions are taken; others are a newer worker's, and are recorded only.
func known(t worker.Transition) bool {
	switch t {
	case worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Stopping, worker.Stopped:
		return true
	}
	return false
}

// Lifecycle keeps the contract of workerapi.Reports.
func (e *Engine) Lifecycle(_ context.Context, id string, r worker.Lifecycle) (worker.LifecycleAnswer, error) {
	a, err := e.named(id)
	if err != nil {
		return worker.LifecycleAnswer{}, err
	}
	if r.Event == "" {
		return worker.LifecycleAnswer{}, fmt.Errorf("%w: event is missing", worker.ErrInvalid)
	}
	if !known(r.Event) {
		e.record(a, event.WorkerLifecycle, r, map[string]string{"late": "true"})
		return worker.LifecycleAnswer{Accepted: true, Late: true}, nil
	}
	now := e.opts.Now()
	a.mu.Lock()
	var late bool
	a.life, late = a.life.Told(r, now)
	a.heard = now
	if !late && (r.Event == worker.Started || r.Event == worker.Stopped) {
		a.dropQuestionsLocked()
	}
	a.changeLocked()
	a.mu.Unlock()
	more := map[string]string{}
	if late {
		more["late"] = "true"
	}
	e.record(a, event.WorkerLifecycle, r, more)
	e.opts.City.Sense(a.session)
	e.rememberLater(a)
	return worker.LifecycleAnswer{Accepted: true, Late: late}, nil
}

// rememberLater keeps the memory of a run with its session. A report is not held up
// for that.
func (e *Engine) rememberLater(a *active) {
	v, err := e.opts.City.View(a.session)
	if err != nil || v.Provider == nil {
		return
	}
	if err := a.remember(v.Provider); err != nil {
		e.opts.Logger.Debug("what a worker told is not kept with its session", "session", a.session, "error", err)
	}
}

// Telemetry keeps the contract of workerapi.Reports.
func (e *Engine) Telemetry(ctx context.Context, id string, t worker.Telemetry) (worker.TelemetryAnswer, error) {
	a, err := e.named(id)
	if err != nil {
		return worker.TelemetryAnswer{}, err
	}
	if len(t.Events) == 0 {
		return worker.TelemetryAnswer{}, fmt.Errorf("%w: there are no events", worker.ErrInvalid)
	}
	now := e.opts.Now()
	var entries []usage.Entry
	for i := range t.Events {
		if at := t.Events[i].Timestamp; at.IsZero() || at.After(now) {
			t.Events[i].Timestamp = now
		}
		if entry, ok := usage.FromEvent(usage.Origin{Run: a.id, Session: a.session, Agent: a.agent}, t.Events[i]); ok {
			entries = append(entries, entry)
		}
	}
	recorded := len(entries)
	if e.opts.Spend != nil && len(entries) > 0 {
		if recorded, err = e.opts.Spend(ctx, entries); err != nil {
			return worker.TelemetryAnswer{}, fmt.Errorf("%w: what was spent cannot be kept: %w", worker.ErrUnavailable, err)
		}
	}
	a.mu.Lock()
	a.heard = now
	for i := range t.Events {
		if t.Events[i].Type == worker.Compacted {
			a.compactedLocked()
		}
	}
	a.changeLocked()
	a.mu.Unlock()
	e.record(a, event.WorkerTelemetry, t, nil)
	return worker.TelemetryAnswer{Recorded: recorded, Known: len(entries) - recorded}, nil
}

// Ack keeps the contract of workerapi.Reports.
func (e *Engine) Ack(ctx context.Context, id string, ack worker.Ack) error {
	a, err := e.named(id)
	if err != nil {
		return err
	}
	switch ack.State {
	case worker.Received, worker.Submitted, worker.Consumed, worker.Refused, worker.Failed:
	default:
		return fmt.Errorf("%w: state %q is none of received, submitted, consumed, refused, failed", worker.ErrInvalid, ack.State)
	}
	a.mu.Lock()
	a.heard = e.opts.Now()
	letter, news := a.box.Ack(ack)
	if letter == nil { // it was sent before this controller began
		letter = a.box.Put(worker.Message{ID: ack.ID, At: a.heard})
		_, news = a.box.Ack(ack)
	}
	a.changeLocked()
	a.mu.Unlock()
	if news {
		e.record(a, event.WorkerAck, ack, nil)
		e.opts.City.Sense(a.session)
	}
	return e.verify(ctx, a, ack.ID)
}

// ReportHealth keeps the contract of workerapi.Reports.
func (e *Engine) ReportHealth(_ context.Context, id string, h worker.Health) error {
	a, err := e.named(id)
	if err != nil {
		return err
	}
	now := e.opts.Now()
	a.mu.Lock()
	h.RunID, h.Asked = a.id, true
	a.health, a.heard = h, now
	if h.Question != "" {
		a.box.Ack(worker.Ack{ID: h.Question, State: worker.Consumed})
	}
	a.changeLocked()
	a.mu.Unlock()
	e.record(a, event.WorkerHealth, h, nil)
	return nil
}

// Interaction keeps the contract of workerapi.Reports.
func (e *Engine) Interaction(_ context.Context, id string, q worker.Interaction) (worker.InteractionAnswer, error) {
	a, err := e.named(id)
	if err != nil {
		return worker.InteractionAnswer{}, err
	}
	if strings.TrimSpace(q.ID) == "" {
		return worker.InteractionAnswer{}, fmt.Errorf("%w: id is missing", worker.ErrInvalid)
	}
	a.mu.Lock()
	a.heard = e.opts.Now()
	name := ""
	switch q.Event {
	case worker.Raised:
		name = a.raiseLocked(q).request
	case worker.Resolved:
		name = a.resolveLocked(q.ID)
	default:
		a.mu.Unlock()
		return worker.InteractionAnswer{}, fmt.Errorf("%w: event %q is neither raised nor resolved", worker.ErrInvalid, q.Event)
	}
	a.changeLocked()
	a.mu.Unlock()
	q.Input = nil // it may hold anything
	e.record(a, event.WorkerInteraction, q, nil)
	e.opts.City.Sense(a.session)
	return worker.InteractionAnswer{ID: name}, nil
}
