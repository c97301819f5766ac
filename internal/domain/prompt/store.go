package prompt

import (
	"context"
	"errors"
	"time"
)

// ErrEnded reports that a receipt is final and cannot be opened again.
var ErrEnded = errors.New("the receipt has ended")

// Store keeps receipts and their prompts. Each method returns when what it did
// is durable: a kill -9 or a power cut after it changes nothing. Safe for
// concurrent use.
//
// An error that matches client.ErrUnavailable says that the store cannot be
// reached now; nothing was changed, unless the error says that it may have been.
// Changes take effect in the order in which they were asked for: when a later one
// is answered, an earlier one that ended with an error has taken effect or never
// will.
type Store interface {
	// AddReceipt keeps a new receipt with its content and gives it its Seq, which
	// is never given again. A key that was used before in the city, and whose
	// receipt is still kept, returns that receipt and known, and keeps nothing. An ID
	// that is taken is an error.
	AddReceipt(ctx context.Context, r Receipt) (kept Receipt, known bool, err error)
	// SaveReceipt replaces the receipt with the same ID, save its Seq, Session and
	// Key. Nil content leaves the content as it is; a consumed receipt has none. An
	// unknown receipt is an error matching [ErrUnknown], a final one that would
	// not be final any more one matching [ErrEnded].
	SaveReceipt(ctx context.Context, r Receipt) error
	// OpenReceipts returns every receipt that is not final, with its content, in
	// the order of Seq. One that cannot be read is left out and named in the
	// error; the others are returned beside it.
	OpenReceipts(ctx context.Context) ([]Receipt, error)
	// Receipt returns one receipt, with its content unless it is consumed; an error
	// matching [ErrUnknown] if it is not kept.
	Receipt(ctx context.Context, id string) (Receipt, error)
	// EndedReceipts returns the most recent final receipts by UpdatedAt, newest
	// first, without content; of one session if it is not empty, all if limit is
	// not positive.
	EndedReceipts(ctx context.Context, session string, limit int) ([]Receipt, error)
	// DeleteReceipts removes final receipts that were last updated before the
	// given time, and returns how many.
	DeleteReceipts(ctx context.Context, before time.Time) (int, error)
	Mover
}

// Mover changes the session of a receipt.
type Mover interface {
	// MoveReceipt is SaveReceipt with the Session of r, in one step: the agent has another
	// session now.
	MoveReceipt(ctx context.Context, r Receipt) error
}
