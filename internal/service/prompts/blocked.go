package prompts

import (
	"context"
	"slices"
	"strings"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

// inputState is what the engine knows about the input box of a session.
type inputState struct {
	instance string    // the public name of the instance; empty: any instance
	why      string    // what blocks the box; empty: it is not known to be blocked
	since    time.Time // when why last changed
}

// InputBlocked reports whether the input box of an instance, given by its public name, is blocked:
// it may contain text of an earlier delivery that gc can neither remove nor prove to be gone.
// Nothing is typed into it until it is empty. why describes the block and is empty if there is
// none. changed is when the answer last changed; zero: never.
func (e *Engine) InputBlocked(session, instance string) (why string, changed time.Time) {
	b := e.queueOf(session)
	if b == nil {
		return "", time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in := b.input
	if in.why == "" || in.instance != "" && instance != in.instance {
		return "", in.since
	}
	return in.why, in.since
}

// RecheckInput reports to the engine that the content of an agent's input box may have changed, for
// example by key presses. The next prompt is tried at once. If no prompt waits, the box counts as
// not blocked until the next prompt finds it blocked.
func (e *Engine) RecheckInput(ctx context.Context, session string) {
	b := e.queueOf(session)
	if b == nil {
		return
	}
	e.mu.Lock()
	b.recheck = true
	waits := slices.ContainsFunc(b.listLocked(), (*prompt.Receipt).IsQueued)
	e.mu.Unlock()
	if !waits {
		e.setInputFree(ctx, b)
	}
	b.wakeup.Wake()
}

// InputCleared records that the input box of an agent was seen to be empty, so that prompts can be
// typed again.
func (e *Engine) InputCleared(ctx context.Context, session string) {
	if b := e.queueOf(session); b != nil {
		e.setInputFree(ctx, b)
	}
	e.RecheckInput(ctx, session)
}

// setInputBlocked records that the input box of an instance is blocked, and why. It emits an event
// if it was not blocked before.
func (e *Engine) setInputBlocked(ctx context.Context, b *sessionQueue, instance, why string) {
	now := e.opts.Now()
	e.mu.Lock()
	news := b.input.why == "" || b.input.instance != instance
	if news {
		b.input.since = now
	}
	b.input.instance, b.input.why = instance, why
	agent := b.agent
	e.mu.Unlock()
	if news {
		e.report(ctx, b.session, agent, event.InputBlocked, "the input box of "+agent+" is blocked: "+why, map[string]string{"reason": why, "instance": instance})
	}
}

// setInputFree records that the input box is not known to be blocked, and emits an event if it was.
func (e *Engine) setInputFree(ctx context.Context, b *sessionQueue) {
	e.mu.Lock()
	was := b.input
	if was.why != "" {
		b.input = inputState{since: e.opts.Now()}
	}
	agent := b.agent
	e.mu.Unlock()
	if was.why != "" {
		e.report(ctx, b.session, agent, event.InputUnblocked, "the input box of "+agent+" is free again", map[string]string{"instance": was.instance})
	}
}

// updateInputState records, from the result of a delivery attempt, whether the agent's input box is
// blocked.
func (o *owner) updateInputState(ctx context.Context, instance string, a prompt.Attempt) {
	switch out := a.Outcome; {
	case out.Reason == runtime.RefusedInputBlocked:
		o.setInputBlocked(ctx, o.queue, instance, out.Detail)
	case a.Unsent, out.Unsent:
	case out.State == runtime.OutcomeRefused && out.Reason != runtime.RefusedDraft && out.Reason != runtime.RefusedWithdrawn:
	default: // the driver found the box empty, or the instance is gone
		o.setInputFree(ctx, o.queue)
	}
}

// restoreBlockedLocked marks the input boxes as blocked that an earlier controller found blocked:
// those of sessions whose newest receipt has that reason. The caller holds e.mu.
func (e *Engine) restoreBlockedLocked(receipts []prompt.Receipt) {
	newest := map[string]prompt.Receipt{}
	for _, r := range receipts {
		if old, ok := newest[r.Session]; r.State != prompt.Queued || strings.HasPrefix(r.Reason, prompt.InputBlockedPrefix) {
			if !ok || r.UpdatedAt.After(old.UpdatedAt) {
				newest[r.Session] = r
			}
		}
	}
	for session, r := range newest {
		if why, ok := strings.CutPrefix(r.Reason, prompt.InputBlockedPrefix); ok {
			e.queueLocked(session, r.Agent).input = inputState{instance: r.Instance, why: why, since: r.UpdatedAt}
		}
	}
}
