package prompts

import (
	"context"

	"gascity/internal/domain/prompt"
)

// reasonAborted is the reason of a receipt whose agent accepted the prompt and whose turn was
// interrupted before its end.
const reasonAborted = "the agent accepted it, and its turn was aborted"

// TurnAborted records that the turn of an instance, given by its public name, was interrupted. The
// receipt of the prompt in that turn is closed as submitted and does not become consumed.
func (e *Engine) TurnAborted(ctx context.Context, session, instance string) {
	b := e.queueOf(session)
	if b == nil || e.ready(ctx) != nil {
		return
	}
	id := e.receiptInTurn(b, instance)
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
	if ignoreEnded(err) != nil {
		e.opts.Logger.Warn("cannot save that a turn was aborted", "receipt", id, "error", err)
	}
}

// abortInjected records that the turn of a prompt was interrupted before the result of its delivery
// was saved. When that result is saved, the receipt is closed.
func (e *Engine) abortInjected(b *sessionQueue, id string) {
	e.update(b, id, func(r *openReceipt) { r.aborted = r.aborted || !r.worked })
}

// receiptInTurn returns the ID of the prompt that the current turn of an instance works on: the
// last prompt that a hook reported as the start of a turn, or, without such a report, the first
// prompt that the agent accepted. It returns "" if there is none.
func (e *Engine) receiptInTurn(b *sessionQueue, instance string) string {
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
