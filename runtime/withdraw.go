package runtime

import (
	"context"
	"errors"
)

// Withdrawer is the extension of drivers that can take back a prompt whose
// delivery was cut off.
type Withdrawer interface {
	// Withdraw takes the text of a delivery that was cut off out of the agent's
	// input again. True is proof that the agent never took it: the text was in
	// the input line, alone, and is not any more. False proves nothing; a text of
	// ours that cannot be taken out may be left in part. A person's text is never
	// touched. d.Content is as it was delivered.
	// [ErrSessionNotFound] if the session is missing, [ErrStaleInstance] if
	// d.Instance is not the current incarnation's token.
	Withdraw(ctx context.Context, name string, d Delivery) (bool, error)
}

// Withdraw takes back a prompt whose delivery was cut off. Without the extension
// nothing can be proved: false.
func Withdraw(ctx context.Context, p Provider, name string, d Delivery) (bool, error) {
	if w, ok := As[Withdrawer](p, name); ok {
		return w.Withdraw(ctx, name, d)
	}
	return false, &Error{Op: "withdraw a prompt from", Session: name, Err: errors.ErrUnsupported}
}
