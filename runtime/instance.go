package runtime

import (
	"context"
	"errors"
	"fmt"
)

// Fencer is the extension of drivers that check the instance and act on it in one step, so that the
// operation never reaches a later instance of the same name.
type Fencer interface {
	// StopInstance stops the instance with the given token. If another instance runs, it returns
	// [ErrStaleInstance] and does nothing. If none runs, it returns nil.
	StopInstance(ctx context.Context, name, token string) error
	// InterruptInstance interrupts the instance with the given token.
	InterruptInstance(ctx context.Context, name, token string) error
}

// StopInstance stops the session only if token is the token of its current instance. Without the
// extension it observes the session and then stops it; if the driver does not report the instance,
// it returns [errors.ErrUnsupported].
func StopInstance(ctx context.Context, p Provider, name, token string) error {
	if f, ok := As[Fencer](p, name); ok {
		return f.StopInstance(ctx, name, token)
	}
	err := CheckInstance(ctx, p, name, token)
	if errors.Is(err, ErrSessionNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.Stop(name)
}

// InterruptInstance interrupts the session only if token is the token of its current instance, like
// [StopInstance].
func InterruptInstance(ctx context.Context, p Provider, name, token string) error {
	if f, ok := As[Fencer](p, name); ok {
		return f.InterruptInstance(ctx, name, token)
	}
	if err := CheckInstance(ctx, p, name, token); err != nil {
		return err
	}
	return p.Interrupt(name)
}

// CheckInstance returns nil if token is the token of the session's current instance,
// [ErrSessionNotFound] if there is none, [ErrStaleInstance] if another one runs, and a different
// error if that is unknown.
func CheckInstance(ctx context.Context, p Provider, name, token string) error {
	obs, err := Observe(ctx, p, name)
	if err != nil {
		return &Error{Op: "identify", Session: name, Err: err}
	}
	switch {
	case obs.Session == Dead:
		return &Error{Op: "identify", Session: name, Err: ErrSessionNotFound}
	case obs.InstanceToken == "":
		return &Error{Op: "identify", Session: name, Err: fmt.Errorf("cannot find out which instance of the session runs: %w", errors.ErrUnsupported)}
	case obs.InstanceToken != token:
		return &Error{Op: "identify", Session: name, Err: ErrStaleInstance}
	}
	return nil
}
