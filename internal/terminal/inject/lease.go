package inject

import (
	"context"

	"gascity/internal/terminal/screen"
)

// Lease is the exclusive right to deliver prompts into a terminal, together with the journal of deliveries. Input of
// a caller that has lost its lease never arrives. A Lease is for one goroutine. A Lease that can hold the keys of
// people also implements [screen.Holder].
//
// Its methods return an error that matches [screen.ErrExited] if the agent has exited.
type Lease interface {
	// Frame and Send implement screen.Terminal. Input of Send counts as [InputKeys].
	screen.Terminal
	Journal
}

// Journal is the persistent log of the deliveries to one instance. Its rules are those of [DeliveryLog]. The
// next delivery, also in another process, reads the outcome of the last one.
type Journal interface {
	// Begin records a delivery before its first byte is sent. undo are the keys that remove the text from the
	// input box; empty if there are no such keys. While the text is not submitted, these keys must be sent before
	// any other input.
	Begin(ctx context.Context, id, text string, undo []byte) error
	// Type writes input in one piece, as Send does, and records its kind for the delivery that was begun last. Both
	// are one step: input of others comes before both or after both. An error that matches [ErrTouched]
	// means that other input came before, see [Input], and nothing was written.
	Type(ctx context.Context, in Input, p []byte) error
	// Account returns the current log and the entry of the delivery with the given ID. Later input of the kinds
	// InputProbe and InputClear relies on what was returned: see [Input].
	Account(ctx context.Context, id string) (DeliveryAccount, error)
	// RecordOutcome records the outcome of a delivery, or the state of its resolution, from the fields of e.
	RecordOutcome(ctx context.Context, e DeliveryEntry) error
}

// SeenJournal is a Journal that can write input on the condition that the screen has not changed.
type SeenJournal interface {
	Journal

	// TypeSeen calls Type if the frame with the sequence number seen is still current. An error that matches
	// [ErrChanged] means that the terminal has changed since, or has output that is not in a frame yet,
	// and nothing was written.
	TypeSeen(ctx context.Context, seen uint64, in Input, p []byte) error
}
