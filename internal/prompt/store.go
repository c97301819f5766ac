package prompt

import (
	"context"
	"time"
)

// Store keeps receipts and their prompts. Each method returns when what it did
// is durable: a kill -9 or a power cut after it changes nothing. Safe for
// concurrent use.
type Store interface {
	// AddReceipt keeps a new receipt with its content. A key that the same
	// session has used before, and whose receipt is still kept, returns that
	// receipt and known, and keeps nothing.
	AddReceipt(ctx context.Context, r Receipt) (kept Receipt, known bool, err error)
	// SaveReceipt replaces the receipt with the same ID. An unknown one is an
	// error.
	SaveReceipt(ctx context.Context, r Receipt) error
	// OpenReceipts returns every receipt that is not final, with its content, in
	// the order of Seq.
	OpenReceipts(ctx context.Context) ([]Receipt, error)
	// Receipt returns one receipt; an error matching [ErrUnknown] if it is not
	// kept.
	Receipt(ctx context.Context, id string) (Receipt, error)
	// EndedReceipts returns the most recent final receipts, newest first, without
	// content; of one session if it is not empty.
	EndedReceipts(ctx context.Context, session string, limit int) ([]Receipt, error)
	// ForgetReceipts removes final receipts that ended before the given time.
	ForgetReceipts(ctx context.Context, before time.Time) (int, error)
}
