package runtime

import (
	"context"
	"time"
)

// DialogProvider is the extension of drivers that recognise start-up dialogs on
// a running session.
type DialogProvider interface {
	// DismissKnownDialogs settles every known dialog that is up or appears
	// within timeout. An unknown screen gets no keys. [ErrSessionNotFound] if
	// the session is missing.
	DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error
}

// DismissKnownDialogs settles known dialogs. Without the extension there is
// nothing to dismiss: nil.
func DismissKnownDialogs(ctx context.Context, p Provider, name string, timeout time.Duration) error {
	if d, ok := As[DialogProvider](p, name); ok {
		return d.DismissKnownDialogs(ctx, name, timeout)
	}
	return nil
}
