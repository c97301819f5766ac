package prompts

import (
	"context"

	"gascity/internal/domain/prompt"
)

// Worked records the agent's report that a turn has worked on the prompt of a receipt. The report
// is saved when Worked returns nil; it may be repeated. It changes nothing if the instance was not
// given the prompt or the receipt has ended. If the store fails, Worked returns an error and the
// agent must repeat the report.
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
		case r.State == prompt.Injected: // saveOutcome uses this when the attempt finishes
			e.update(b, id, func(r *openReceipt) { r.worked = true })
			b.wakeup.Wake()
		}
		return r, errEnded
	})
	return ignoreEnded(err)
}
