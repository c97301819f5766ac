package runtime

import (
	"context"
	"errors"
	"time"
)

// IdleWaitProvider is the extension of drivers that can wait for a safe
// boundary before input is injected.
type IdleWaitProvider interface {
	// WaitForIdle returns nil once the agent waits for input. timeout is a hard
	// upper bound; its end is an error matching [context.DeadlineExceeded].
	// [ErrSessionNotFound] if the session is missing.
	WaitForIdle(ctx context.Context, name string, timeout time.Duration) error
}

// WaitForIdle waits for a safe boundary. Without the extension the error
// matches [errors.ErrUnsupported].
func WaitForIdle(ctx context.Context, p Provider, name string, timeout time.Duration) error {
	if w, ok := As[IdleWaitProvider](p, name); ok {
		return w.WaitForIdle(ctx, name, timeout)
	}
	return &Error{Op: "wait for idle", Session: name, Err: errors.ErrUnsupported}
}
