package runtime

import (
	"context"
	"errors"
	"time"
)

// InterruptedTurnResetProvider is the extension of drivers that can discard the
// user turn that was just interrupted from the agent's conversation, without a
// restart. Some agents would otherwise answer it together with the next one.
type InterruptedTurnResetProvider interface {
	// ResetInterruptedTurn discards the interrupted turn.
	ResetInterruptedTurn(ctx context.Context, name string) error
}

// ResetInterruptedTurn discards the interrupted turn. Without the extension
// there is nothing to discard: nil.
func ResetInterruptedTurn(ctx context.Context, p Provider, name string) error {
	if r, ok := As[InterruptedTurnResetProvider](p, name); ok {
		return r.ResetInterruptedTurn(ctx, name)
	}
	return nil
}

// InterruptBoundaryWaitProvider is the extension of drivers that can confirm
// that a turn has really been cancelled before the next prompt is sent; a codex
// session, for one, writes the marker "<turn_aborted>".
type InterruptBoundaryWaitProvider interface {
	// WaitForInterruptBoundary returns nil once a boundary newer than since has
	// been seen; timeout is a hard bound.
	WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error
}

// WaitForInterruptBoundary waits for the boundary. Without the extension the
// error matches [errors.ErrUnsupported]: the boundary is unconfirmed.
func WaitForInterruptBoundary(ctx context.Context, p Provider, name string, since time.Time, timeout time.Duration) error {
	if w, ok := As[InterruptBoundaryWaitProvider](p, name); ok {
		return w.WaitForInterruptBoundary(ctx, name, since, timeout)
	}
	return &Error{Op: "confirm the interrupt of", Session: name, Err: errors.ErrUnsupported}
}
