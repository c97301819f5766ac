package prompts

import (
	"cmp"
	"context"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/service/engine"
)

// toClient returns a receipt as the control API returns it.
func toClient(r *prompt.Receipt) client.Receipt {
	out := client.Receipt{
		ID: r.ID, Agent: r.Agent, Session: r.Session, Instance: r.Instance, State: string(r.State), Reason: r.Reason, Evidence: r.Evidence, Closed: r.Closed,
		Priority: priorityWord(r.Priority), Source: r.Source, Key: r.Key, Text: r.Head, Bytes: r.Bytes, Files: filesOf(r.Content),
		Attempts: r.Attempts, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt,
	}
	out.AllowChanges, out.ByFile, out.Changes = r.AllowChanges, r.ByFile, r.Changes
	out.Metadata, out.SentBack, out.RetryOf = r.Metadata, r.SentBack, r.RetryOf
	out.Literal = r.Literal
	for _, s := range r.Steps {
		out.Steps = append(out.Steps, client.ReceiptStep{State: string(s.State), At: s.At, Detail: s.Detail})
	}
	return out
}

// answer returns a receipt as the control API returns it. If it is open in queue b, the result
// includes its deadline, position and wait reason.
func (e *Engine) answer(b *sessionQueue, r prompt.Receipt) client.Receipt {
	out := toClient(&r)
	if b == nil || r.Final() {
		return out
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if out.Deadline = e.deadlineLocked(b, &r); !r.IsQueued() {
		return out
	}
	out.Position = prompt.Position(b.listLocked(), r.ID)
	out.Reason = e.waitReasonLocked(b, out)
	return out
}

// deadlineLocked returns the time by which the delivery of an injected prompt has ended; zero for a
// prompt in any other state. The caller holds e.mu.
func (e *Engine) deadlineLocked(b *sessionQueue, r *prompt.Receipt) time.Time {
	if r.State != prompt.Injected {
		return time.Time{}
	}
	return r.Limit(prompt.Observation{Progress: e.opts.Progress(), WatchedFrom: b.watchedFrom})
}

// waitReasonLocked returns why a queued prompt waits, as a text for people; it is never empty. A
// reason that applies to all prompts of the session comes first. The caller holds e.mu.
func (e *Engine) waitReasonLocked(b *sessionQueue, r client.Receipt) string {
	switch {
	case e.storeError != "":
		return "nothing is sent: " + e.storeError
	case b.holdReason != "":
		return b.holdReason
	case b.input.why != "":
		return prompt.InputBlockedPrefix + b.input.why
	case r.Position > 1:
		return "the prompts before it go first"
	}
	next := "it is next"
	for _, other := range b.receipts {
		if other.State == prompt.Injected {
			next = "the prompt before it is being delivered"
		}
	}
	return cmp.Or(r.Reason, b.why, next)
}

// kinds are the events of receipt states.
var kinds = map[prompt.State]struct {
	kind event.Kind
	text string
}{
	prompt.Submitted:   {event.PromptSubmitted, "the agent accepted the prompt"},
	prompt.Consumed:    {event.PromptConsumed, "a turn worked on the prompt"},
	prompt.Expired:     {event.PromptExpired, "the prompt expired before it could be delivered"},
	prompt.Dead:        {event.PromptDead, "the prompt can never be delivered"},
	prompt.Cancelled:   {event.PromptCancelled, "the prompt was withdrawn"},
	prompt.Unconfirmed: {event.PromptUnconfirmed, "the prompt was delivered without evidence that the agent accepted it"},
}

// emitState emits the event for the state that the receipt has just reached. Some states have no
// event.
func (e *Engine) emitState(ctx context.Context, r prompt.Receipt) {
	if row, ok := kinds[r.State]; ok {
		e.emit(ctx, r, row.kind, row.text)
	}
}

// report emits an event about a session and calls Options.Changed for it.
func (e *Engine) report(ctx context.Context, session, agent string, kind event.Kind, text string, data map[string]string) {
	engine.Record(ctx, e.opts.Events, e.opts.Logger, client.Event{Kind: string(kind), Agent: agent, Session: session, Text: text, Data: data})
	e.opts.Changed(session)
}

// emit appends an event of a receipt.
func (e *Engine) emit(ctx context.Context, r prompt.Receipt, kind event.Kind, text string) {
	data := map[string]string{"receipt": r.ID, "priority": priorityWord(r.Priority)}
	for key, value := range map[string]string{"reason": r.Reason, "evidence": r.Evidence, "source": r.Source, "instance": r.Instance} {
		if value != "" {
			data[key] = value
		}
	}
	engine.Record(ctx, e.opts.Events, e.opts.Logger, client.Event{Kind: string(kind), Agent: r.Agent, Session: r.Session, Text: text, Data: data}, "receipt", r.ID)
}
