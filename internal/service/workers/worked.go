package workers

import (
	"context"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/workers/recovery"
	"gascity/worker"
)

// worked passes on what a worker has said of a prompt, once it says that a turn has
// worked on it. A repetition is handed on too: what came of the first is not known.
func (e *Engine) worked(ctx context.Context, a *liveRun, message string) error {
	a.mu.Lock()
	l := a.mailbox.Find(message)
	receipt := ""
	if l != nil && l.State == worker.Consumed && (l.Kind == worker.PromptMessage || recovery.Newest(a.sent, recovery.Receipt(message)) != "") {
		receipt = recovery.Receipt(message)
	}
	a.mu.Unlock()
	if receipt == "" || e.opts.Prompts == nil {
		return nil
	}
	return inWords(e.opts.Prompts.Worked(ctx, receipt, session.PublicInstance(a.instance)))
}

// names takes what a report says of the prompt that it names, as an acknowledgement of
// that. A report that names what was never sent says nothing by it.
func (e *Engine) names(ctx context.Context, a *liveRun, message string, state worker.Progress) error {
	if message == "" {
		return nil
	}
	a.mu.Lock()
	l := a.mailbox.Find(message)
	known := l != nil && l.Kind == worker.PromptMessage
	if known {
		a.mailbox.Ack(worker.Ack{ID: message, State: state})
		a.changeLocked()
	}
	a.mu.Unlock()
	if !known || state != worker.Consumed {
		return nil
	}
	return e.worked(ctx, a, message)
}

// forwardHookReport passes on what a hook says of the prompts that reach its agent: one begins a
// turn, or the turn is over. That it waits for its user, without a word of a turn's end,
// says nothing of prompts.
func (e *Engine) forwardHookReport(ctx context.Context, a *liveRun, r worker.Lifecycle, now time.Time) error {
	begun := r.Event == worker.Busy && r.Metadata.PromptHash != ""
	over := r.Event == worker.Idle && r.Metadata.Reason != ""
	if r.Metadata.Via != worker.ViaHook || !begun && !over || e.opts.Prompts == nil {
		return nil
	}
	w := prompt.HookReport{Session: a.session, Instance: session.PublicInstance(a.instance), At: now}
	if !r.Timestamp.IsZero() && r.Timestamp.Before(now) {
		w.At = r.Timestamp
	}
	w.Aborted = over && r.Metadata.Reason == worker.TurnInterrupted
	if begun {
		w.Hash = r.Metadata.PromptHash
	}
	return inWords(e.opts.Prompts.RecordHookReport(ctx, w))
}
