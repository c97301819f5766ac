package runtime

import (
	"context"
	"errors"
	"fmt"
)

// Fencer is the extension of drivers that check the instance and act on it
// in one step, so that a successor of the same name can never be hit.
type Fencer interface {
	// StopInstance is Stop for the instance with the given token. Another
	// instance is [ErrStaleInstance] and untouched; none at all is nil.
	StopInstance(ctx context.Context, name, token string) error
	// InterruptInstance is Interrupt for the instance with the given token.
	InterruptInstance(ctx context.Context, name, token string) error
}

// StopInstance stops the session only if token names its current instance.
// Without the extension it observes first and stops then; a driver that does
// not know its instance refuses with [errors.ErrUnsupported].
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

// InterruptInstance interrupts the session only if token names its current
// instance, like [StopInstance].
func InterruptInstance(ctx context.Context, p Provider, name, token string) error {
	if f, ok := As[Fencer](p, name); ok {
		return f.InterruptInstance(ctx, name, token)
	}
	if err := CheckInstance(ctx, p, name, token); err != nil {
		return err
	}
	return p.Interrupt(name)
}

// CheckInstance returns nil if token names the session's current instance,
// [ErrSessionNotFound] if there is none, [ErrStaleInstance] if it is another
// one, and an error that is none of these if it is unknown.
func CheckInstance(ctx context.Context, p Provider, name, token string) error {
	obs, err := Observe(ctx, p, name)
	if err != nil {
		return &Error{Op: "identify", Session: name, Err: err}
	}
	switch {
	case obs.Session == Dead:
		return &Error{Op: "identify", Session: name, Err: ErrSessionNotFound}
	case obs.InstanceToken == "":
		return &Error{Op: "identify", Session: name, Err: fmt.Errorf("its instance is unknown: %w", errors.ErrUnsupported)}
	case obs.InstanceToken != token:
		return &Error{Op: "identify", Session: name, Err: ErrStaleInstance}
	}
	return nil
}
