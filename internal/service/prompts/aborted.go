package prompts

import (
	"context"
	"errors"

	"gascity/internal/domain/prompt"
)

// reasonAborted is how a prompt ends whose turn was interrupted: the agent accepted it, and its
// turn did not come to its end.
const reasonAborted = "the agent accepted it, and its turn was aborted"

// TurnAborted says that the turn of an instance, by its public name, was interrupted. The prompt
// that it worked on is closed as submitted: it is not said to be consumed.
func (e *Engine) TurnAborted(ctx context.Context, session, instance string) {
	found, ok := e.bySession.Load(session)
	if !ok || e.ready(ctx) != nil {
		return
	}
	b := found.(*sessionQueue)
	id := e.inTurn(b, instance)
	if id == "" {
		return
	}
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		switch {
		case r.Instance != instance:
			return r, errEnded
		case r.State == prompt.Injected:
			e.abortInjected(b, id)
			return r, errEnded
		case r.State != prompt.Submitted:
			return r, errEnded
		}
		return r.Move(prompt.Submitted, e.opts.Now(), reasonAborted)
	})
	if err != nil && !errors.Is(err, errEnded) {
		e.opts.Logger.Warn("cannot save that a turn was aborted", "receipt", id, "error", err)
	}
}

// abortInjected records that the turn of a prompt was aborted before the result of its attempt
// was saved. The end of the attempt closes the receipt.
func (e *Engine) abortInjected(b *sessionQueue, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !b.worked[id] {
		b.aborted[id] = true
	}
}

// wasAborted reports whether the turn of an injected prompt was aborted.
func (o *owner) wasAborted(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.aborted[id]
}

// inTurn returns the prompt that the turn of an instance works on: the last one that a hook
// said to have begun a turn, else the first that the agent accepted. Empty: there is none.
func (e *Engine) inTurn(b *sessionQueue, instance string) string {
	var begun, first *prompt.Receipt
	for _, r := range e.open(b) {
		at := e.reportedAt(b, r)
		if r.Instance != instance || r.State != prompt.Submitted && (r.State != prompt.Injected || at.IsZero()) {
			continue
		}
		if first == nil || r.Seq < first.Seq {
			first = r
		}
		if !at.IsZero() && (begun == nil || at.After(e.reportedAt(b, begun))) {
			begun = r
		}
	}
	switch {
	case begun != nil:
		return begun.ID
	case first != nil:
		return first.ID
	}
	return ""
}
