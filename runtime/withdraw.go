package runtime

import (
	"context"
	"errors"
)

// Withdrawer is the extension of drivers that can withdraw a prompt whose delivery was interrupted.
type Withdrawer interface {
	// Withdraw is like [Settler.Settle], for callers that only need to know whether the text may be
	// sent again. True proves that the agent did not accept the text and never will: no byte was
	// sent, or the text was removed from the input box. False proves nothing. A person's text is
	// never changed. A driver may stop a delivery that is still running. It returns [ErrSessionNotFound] if the session is missing, and
	// [ErrStaleInstance] if d.Instance is not the current instance's token.
	Withdraw(ctx context.Context, name string, d Delivery) (bool, error)
}

// Withdraw withdraws a prompt whose delivery was interrupted. Without the extension it returns
// false and an error that matches [errors.ErrUnsupported]: nothing is proved.
func Withdraw(ctx context.Context, p Provider, name string, d Delivery) (bool, error) {
	if w, ok := As[Withdrawer](p, name); ok {
		return w.Withdraw(ctx, name, d)
	}
	return false, &Error{Op: "withdraw a prompt from", Session: name, Err: errors.ErrUnsupported}
}

// Settler is the extension of drivers that can find the outcome of a delivery after its sender
// exited, or after it ended unconfirmed.
type Settler interface {
	// Settle returns the outcome of the last delivery with d's ID, and ends the delivery.
	// [OutcomeRefused] with [RefusedWithdrawn] proves that the agent did not accept the text and
	// never will: the text may be delivered again. [OutcomeSubmitted] means that a signal shows
	// that the agent accepted it. [OutcomeUnconfirmed] means that neither can be proved; with a
	// Reason, for example an open dialog, the outcome is not known yet and the caller must ask
	// again later. d must be the same as at the delivery. Settle waits for a delivery that is still
	// running. Its errors are those of Withdraw.
	Settle(ctx context.Context, name string, d Delivery) (Outcome, error)
}

// Settle returns the outcome of a delivery. Without the extension it calls [Withdraw], which can
// only report that the text may be sent again.
func Settle(ctx context.Context, p Provider, name string, d Delivery) (Outcome, error) {
	if s, ok := As[Settler](p, name); ok {
		return s.Settle(ctx, name, d)
	}
	ok, err := Withdraw(ctx, p, name, d)
	switch {
	case ok && err == nil:
		return Outcome{State: OutcomeRefused, Reason: RefusedWithdrawn}, nil
	case errors.Is(err, errors.ErrUnsupported):
		return Outcome{State: OutcomeUnconfirmed, Detail: "the driver cannot report the outcome"}, nil
	}
	return Outcome{State: OutcomeUnconfirmed}, err
}
