package runtime

import (
	"context"
	"errors"
)

// InputClearer is the extension of drivers that can empty an agent's input box.
type InputClearer interface {
	// ClearInput removes all text from the agent's input box, including text that a
	// person typed: only a person may ask for it. It returns nil when the box is proved
	// empty, and an error that names what is left otherwise. A delivery that was cut off
	// and whose text was in the box counts as withdrawn afterwards.
	// instance is the token of the instance that is meant; empty means whichever runs.
	// [ErrSessionNotFound] if the session is missing, [ErrStaleInstance] if instance is
	// not the current token, [errors.ErrUnsupported] if the session has no input box.
	ClearInput(ctx context.Context, name, instance string) error
}

// ClearInput empties an agent's input box. Without the extension it returns an error that
// matches [errors.ErrUnsupported].
func ClearInput(ctx context.Context, p Provider, name, instance string) error {
	if c, ok := As[InputClearer](p, name); ok {
		return c.ClearInput(ctx, name, instance)
	}
	return &Error{Op: "clear the input box of", Session: name, Err: errors.ErrUnsupported}
}
