package prompts

import (
	"slices"
	"strings"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

// inputState is what is known of the input box of a session.
type inputState struct {
	instance string    // the public name of the instance; empty: whichever runs
	why      string    // what blocks the box; empty: nothing is known to
	since    time.Time // of why; of its end once there is none
}

// InputBlocked reports whether the input box of an instance, by its public name, may hold
// text of an earlier delivery that can be neither proved gone nor removed: nothing is typed
// into it until it is empty. why says what is in the way. changed is when the answer last
// changed; zero: never.
func (e *Engine) InputBlocked(session, instance string) (why string, changed time.Time) {
	found, ok := e.bySession.Load(session)
	if !ok {
		return "", time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in := found.(*sessionQueue).input
	if in.why == "" || in.instance != "" && instance != in.instance {
		return "", in.since
	}
	return in.why, in.since
}

// RecheckInput says that somebody may have changed what is in an agent's input box, as by
// pressing keys. The next prompt is tried at once. If none waits, the box counts as not
// blocked until the next prompt finds it so.
func (e *Engine) RecheckInput(session string) {
	found, ok := e.bySession.Load(session)
	if !ok {
		return
	}
	b := found.(*sessionQueue)
	e.mu.Lock()
	b.recheck = true
	waits := slices.ContainsFunc(b.listLocked(), (*prompt.Receipt).IsQueued)
	e.mu.Unlock()
	if !waits {
		e.inputFree(b)
	}
	b.wakeOwner()
}

// InputCleared says that an agent's input box was proved empty.
func (e *Engine) InputCleared(session string) {
	if found, ok := e.bySession.Load(session); ok {
		e.inputFree(found.(*sessionQueue))
	}
	e.RecheckInput(session)
}

// inputBlocked records that the input box of an instance is blockedand reports it once.
func (e *Engine) inputBlocked(b *sessionQueue, instance, why string) {
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
		e.report(b.session, agent, event.InputBlocked, agent+" is input blocked: "+why, map[string]string{"reason": why, "instance": instance})
	}
}

// inputFree records that nothing is known to block the input box.
func (e *Engine) inputFree(b *sessionQueue) {
	e.mu.Lock()
	was := b.input
	if was.why != "" {
		b.input = inputState{since: e.opts.Now()}
	}
	agent := b.agent
	e.mu.Unlock()
	if was.why != "" {
		e.report(b.session, agent, event.InputUnblocked, "the input box of "+agent+" is free again", map[string]string{"instance": was.instance})
	}
}

// seeInput draws from an attempt what it shows of the input box.
func (o *owner) seeInput(instance string, a prompt.Attempt) {
	switch out := a.Outcome; {
	case out.Reason == runtime.RefusedInputBlocked:
		o.inputBlocked(o.queue, instance, out.Detail)
	case a.Unsent, out.Unsent:
	case out.State == runtime.OutcomeRefused && out.Reason != runtime.RefusedDraft && out.Reason != runtime.RefusedWithdrawn:
	default: // the driver found the box empty, or the instance is gone
		o.inputFree(o.queue)
	}
}

// blockedInstance returns the instance whose input box is blocked, if it is known.
func (o *owner) blockedInstance() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.input.instance
}

// rechecks reports whether the input box may have changed since the last attempt.
func (o *owner) rechecks() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.recheck
}

// restoreBlockedLocked finds the sessions that were input blocked under an earlier
// controller: those whose newest receipt says so.
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
