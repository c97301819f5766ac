package prompts

import (
	"context"
	"errors"

	"gascity/internal/domain/prompt"
)

// Worked takes an agent's own word that a turn has worked on the prompt of a receipt. It
// is kept when it returns nil, and may be said again and again. What is said of a prompt
// that the instance was not given, or whose receipt has ended, changes nothing. If the
// store fails it is client.ErrUnavailable: the agent has to report it again.
func (e *Engine) Worked(ctx context.Context, id, instance string) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	b := e.index[id]
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		switch {
		case r.Instance != instance:
			return r, errEnded
		case r.State == prompt.Submitted:
			return r.MarkWorked(e.opts.Now())
		case r.State == prompt.Injected: // the end of its attempt takes it over
			e.mu.Lock()
			b.worked[id] = true
			e.mu.Unlock()
			b.wakeOwner()
		}
		return r, errEnded
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// hasWorked reports whether the agent says that it has worked on an injected prompt.
func (o *owner) hasWorked(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.worked[id]
}
