package console

import (
	"context"
	"errors"
	"time"
)

// Idle waits until the agent waits for input: its prompt is on the screen, no
// sign of a turn or dialog is, and that has been so for 200 ms. The end of
// timeout is an error matching [context.DeadlineExceeded] that says what was
// seen last; [ErrExited] if the agent exited.
func Idle(ctx context.Context, t Terminal, rules Rules, timeout time.Duration) error {
	return errors.ErrUnsupported
}

// Interrupt sends the keys that abandon a turn. If the agent is known to put
// the interrupted prompt back into its input line, and that line was empty
// before, it is emptied again.
func Interrupt(ctx context.Context, t Terminal, rules Rules) error {
	return errors.ErrUnsupported
}
