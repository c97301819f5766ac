package runtime

import (
	"context"
	"errors"
)

// InputClearer is the extension of drivers that can empty an agent's input box.
type InputClearer interface {
	// ClearInput removes all text from the agent's input box, including text that a person typed:
	// only a person may request it. It returns nil when it is proved that the input box is empty,
	// and otherwise an error that describes the remaining text. A delivery that was interrupted
	// while its text was in the input box then counts as withdrawn. instance is the token of the
	// target instance; empty means the current one. It returns [ErrSessionNotFound] if the session
	// is missing, [ErrStaleInstance] if instance is not the current token, and
	// [errors.ErrUnsupported] if the session has no input box.
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
