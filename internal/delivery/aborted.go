package delivery

import (
	"context"
	"errors"

	"gascity/internal/prompt"
)

// reasonAborted is how a prompt ends whose turn was interrupted: the agent accepted it, and its
// turn did not come to its end.
const reasonAborted = "the agent accepted it, and its turn was aborted"

// TurnAborted says that the turn of an instance, by its public name, was interrupted. The prompt
// that it worked on is closed as submitted: it is not said to be consumed.
func (e *Engine) TurnAborted(ctx context.Context, session, instance string) {
	found, ok := e.named.Load(session)
	if !ok || e.ready(ctx) != nil {
		return
	}
	b := found.(*box)
	id := e.inTurn(b, instance)
	if id == "" {
		return
	}
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if r.State != prompt.Submitted || r.Instance != instance {
			return r, errOver
		}
		return r.Move(prompt.Submitted, e.opts.Now(), reasonAborted)
	})
	if err != nil && !errors.Is(err, errOver) {
		e.opts.Logger.Warn("cannot save that a turn was aborted", "receipt", id, "error", err)
	}
}

// inTurn is the submitted prompt that the turn of an instance works on: the last one that a hook
// said to have begun a turn, else the first that the agent accepted. Empty: there is none.
func (e *Engine) inTurn(b *box, instance string) string {
	var begun, first *prompt.Receipt
	for _, r := range e.open(b) {
		if r.State != prompt.Submitted || r.Instance != instance {
			continue
		}
		if first == nil || r.Seq < first.Seq {
			first = r
		}
		if at := e.heardAt(b, r); !at.IsZero() && (begun == nil || at.After(e.heardAt(b, begun))) {
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
