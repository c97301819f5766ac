package workers

import (
	"context"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// notifyWorked reports to the prompt queue that a turn has worked on a prompt, if the worker has
// acknowledged that in message. It does so for a repeated acknowledgement too, because the first
// report may have failed.
func (e *Engine) notifyWorked(ctx context.Context, a *liveRun, message string) error {
	a.mu.Lock()
	l := a.mailbox.Find(message)
	receipt := ""
	if l != nil && l.State == worker.Consumed && (l.Kind == worker.PromptMessage || findLastAttempt(a.sent, receiptOf(message)) != "") {
		receipt = receiptOf(message)
	}
	a.mu.Unlock()
	if receipt == "" {
		return nil
	}
	return workerError(e.opts.Prompts.Worked(ctx, receipt, session.PublicInstance(a.instance)))
}

// acknowledgeNamed handles a worker's report that names a prompt by its message ID: it counts as an
// acknowledgement of the prompt with this state. A prompt that was never sent is ignored.
func (e *Engine) acknowledgeNamed(ctx context.Context, a *liveRun, message string, state worker.Progress) error {
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
	return e.notifyWorked(ctx, a, message)
}

// forwardHookReport passes a hook's report to the prompt queue: a prompt has started a turn, or the
// turn has ended. An idle report without a reason is not the end of a turn and is not passed on.
func (e *Engine) forwardHookReport(ctx context.Context, a *liveRun, r worker.Lifecycle, now time.Time) error {
	begun := r.Event == worker.Busy && r.Metadata.PromptHash != ""
	over := r.Event == worker.Idle && r.Metadata.Reason != ""
	if r.Metadata.Via != worker.ViaHook || !begun && !over {
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
	return workerError(e.opts.Prompts.RecordHookReport(ctx, w))
}
