package runtime

import (
	"context"
	"errors"
)

// Withdrawer is the extension of drivers that can take back a prompt whose
// delivery was cut off.
type Withdrawer interface {
	// Withdraw is [Settler.Settle] for who wants to know only whether the text may be
	// sent again. True is proof that the agent never took it and never will: not a
	// byte was sent, or it is out of the input box again. False proves nothing. A
	// person's text is never touched.
	// [ErrSessionNotFound] if the session is missing, [ErrStaleInstance] if
	// d.Instance is not the current instance's token.
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

// Settler is the extension of drivers that can find out the outcome of a
// delivery after its sender died, or after it ended unconfirmed.
type Settler interface {
	// Settle returns the outcome of the last delivery with d's ID, and brings it to an
	// end. [OutcomeRefused] with [RefusedWithdrawn] is proof that the agent never took
	// the text and never will: it may be delivered again. [OutcomeSubmitted] has the
	// evidence that the agent took it. [OutcomeUnconfirmed] if neither can be proved;
	// with a Reason the outcome is not known yet, such as behind a dialog: ask again
	// later. d is as it was delivered; a delivery that is still under way is waited
	// for. Errors are those of Withdraw.
	Settle(ctx context.Context, name string, d Delivery) (Outcome, error)
}

// Settle returns the outcome of a delivery. Without the extension it asks
// [Withdraw], which can only report that it may be sent again.
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
