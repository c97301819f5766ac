package inject

import (
	"context"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
)

// Lease is a terminal into which one caller at a time delivers prompts, and the account of
// what it does: nothing of a caller that was cut off arrives later. A Lease is for one
// goroutine. One that can keep back what people type is a [screen.Holder], too.
//
// Its methods return an error that matches [screen.ErrExited] when the agent has exited.
type Lease interface {
	// Frame and Send keep the contract of Terminal. What Send writes is [inputlog.Keys].
	screen.Terminal
	Journal
}

// Journal is the account of the deliveries of one instance, see [inputlog.Deliveries] for its
// rules. It outlives its writer: the next delivery reads the outcome of the last one.
type Journal interface {
	// Begin notes a delivery before its first byte is sent. undo are the keys that take
	// the text out of the input box, to be sent before other input is accepted while
	// the text is not submitted; none if there are no such keys.
	Begin(ctx context.Context, id, text string, undo []byte) error
	// Type writes input in one piece, as Send does, and notes what it means to the delivery
	// that was begun last. Note and input are one step: input of others comes before both
	// or after both. An error that matches [inputlog.ErrTouched] says that it came before,
	// see [inputlog.Input], so that nothing was written.
	Type(ctx context.Context, in inputlog.Input, p []byte) error
	// Account returns the account, and of the delivery with the given ID. What is marked
	// or deleted later relies on it: see [inputlog.Input].
	Account(ctx context.Context, id string) (inputlog.Account, error)
	// RecordOutcome notes how a delivery ended or what is known of it: the ID, Outcome, Evidence
	// and Open of e.
	RecordOutcome(ctx context.Context, e inputlog.Entry) error
}

// SeenJournal is a Journal that can bind input to a screen.
type SeenJournal interface {
	Journal

	// TypeSeen is Type for input that is only for the frame with the number seen. An error that
	// matches [inputlog.ErrChanged] says that the terminal has changed since, or has output that
	// is not in a frame yet, and that nothing was written.
	TypeSeen(ctx context.Context, seen uint64, in inputlog.Input, p []byte) error
}
