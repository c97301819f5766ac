package runtime

import "context"

// Recoverer is the extension of drivers whose sessions continue to run after the process that
// started them has exited.
type Recoverer interface {
	// Recover takes over a session that another process started. handle is the Handle of an earlier
	// [Observation]. It returns [ErrSessionNotFound] if the session is gone, and [ErrStaleInstance]
	// if another instance has the name. A second call returns nil.
	Recover(ctx context.Context, name, handle string) error
}

// Recover resumes control of a session after a restart of the controller. Without the extension it returns
// nil if the session runs and [ErrSessionNotFound] otherwise, because such a driver finds its
// sessions without a handle.
func Recover(ctx context.Context, p Provider, name, handle string) error {
	if r, ok := As[Recoverer](p, name); ok {
		return r.Recover(ctx, name, handle)
	}
	if p.IsRunning(name) {
		return nil
	}
	return &Error{Op: "recover", Session: name, Err: ErrSessionNotFound}
}
