package runtime

import (
	"context"
	"errors"
	"time"
)

// InterruptedTurnResetProvider is the extension of drivers that can remove an interrupted user turn
// from the agent's conversation without a restart. Without this, some agents answer it together
// with the next prompt.
type InterruptedTurnResetProvider interface {
	// ResetInterruptedTurn discards the interrupted turn.
	ResetInterruptedTurn(ctx context.Context, name string) error
}

// ResetInterruptedTurn removes the interrupted turn from the conversation. Without the extension it
// does nothing and returns nil.
func ResetInterruptedTurn(ctx context.Context, p Provider, name string) error {
	if r, ok := As[InterruptedTurnResetProvider](p, name); ok {
		return r.ResetInterruptedTurn(ctx, name)
	}
	return nil
}

// InterruptBoundaryWaitProvider is the extension of drivers that can confirm that a turn was
// cancelled before the next prompt is sent. For example, codex writes the marker "<turn_aborted>".
type InterruptBoundaryWaitProvider interface {
	// WaitForInterruptBoundary returns nil when the end of a cancelled turn that is newer than
	// since was observed. It returns an error after timeout.
	WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error
}

// WaitForInterruptBoundary waits for the end of a cancelled turn. Without the extension the error
// matches [errors.ErrUnsupported]; the end is then unconfirmed.
func WaitForInterruptBoundary(ctx context.Context, p Provider, name string, since time.Time, timeout time.Duration) error {
	if w, ok := As[InterruptBoundaryWaitProvider](p, name); ok {
		return w.WaitForInterruptBoundary(ctx, name, since, timeout)
	}
	return &Error{Op: "confirm the interrupt of", Session: name, Err: errors.ErrUnsupported}
}
