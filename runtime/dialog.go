package runtime

import (
	"context"
	"time"
)

// DialogProvider is the extension of drivers that recognize start-up dialogs of a running session.
type DialogProvider interface {
	// DismissKnownDialogs answers every known dialog that is open or appears within timeout. It
	// sends no keys to an unknown screen. It returns [ErrSessionNotFound] if the session is
	// missing.
	DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error
}

// DismissKnownDialogs answers known dialogs. Without the extension it does nothing and returns nil.
func DismissKnownDialogs(ctx context.Context, p Provider, name string, timeout time.Duration) error {
	if d, ok := As[DialogProvider](p, name); ok {
		return d.DismissKnownDialogs(ctx, name, timeout)
	}
	return nil
}
