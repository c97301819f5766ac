package runtime

import (
	"context"
	"errors"
	"time"
)

// IdleWaitProvider is the extension of drivers that can wait until it is safe to send input.
type IdleWaitProvider interface {
	// WaitForIdle returns nil when the agent waits for input. After timeout it returns an error
	// that matches [context.DeadlineExceeded]. It returns [ErrSessionNotFound] if the session is
	// missing.
	WaitForIdle(ctx context.Context, name string, timeout time.Duration) error
}

// WaitForIdle waits until the agent waits for input. Without the extension the error matches
// [errors.ErrUnsupported].
func WaitForIdle(ctx context.Context, p Provider, name string, timeout time.Duration) error {
	if w, ok := As[IdleWaitProvider](p, name); ok {
		return w.WaitForIdle(ctx, name, timeout)
	}
	return &Error{Op: "wait for idle", Session: name, Err: errors.ErrUnsupported}
}
