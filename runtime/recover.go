package runtime

import "context"

// Recoverer is the extension of drivers whose sessions outlive the process that
// started them.
type Recoverer interface {
	// Recover adopts a session that another process started, by the handle that
	// an earlier [Observation] carried. [ErrSessionNotFound] if it is gone,
	// [ErrStaleInstance] if another instance has the name. Adopting twice is
	// nil.
	Recover(ctx context.Context, name, handle string) error
}

// Recover adopts a session after a restart. Without the extension it is nil if
// the session runs and [ErrSessionNotFound] otherwise: such a driver finds its
// sessions by itself.
func Recover(ctx context.Context, p Provider, name, handle string) error {
	if r, ok := As[Recoverer](p, name); ok {
		return r.Recover(ctx, name, handle)
	}
	if p.IsRunning(name) {
		return nil
	}
	return &Error{Op: "recover", Session: name, Err: ErrSessionNotFound}
}
