package prompt

import (
	"context"
	"errors"
	"time"
)

// ErrEnded reports that a receipt is final and cannot be opened again.
var ErrEnded = errors.New("the receipt has ended")

// Store stores receipts and the contents of their prompts. When a method returns, its change is
// durable: it survives a kill -9 and a power cut. Safe for concurrent use.
//
// An error that matches client.ErrUnavailable means that the store cannot be used now. Nothing was
// changed, unless the error says that it may have been. Changes take effect in the order of the
// calls: when a later call returns, an earlier one that returned an error has taken effect or
// never will.
type Store interface {
	// AddReceipt stores a new receipt with its content and assigns its Seq, which is never used
	// again. If the city still has a receipt with the same key, AddReceipt stores nothing and
	// returns that receipt with known == true. An ID that already exists is an error.
	AddReceipt(ctx context.Context, r Receipt) (kept Receipt, known bool, err error)
	// SaveReceipt replaces the receipt with the same ID, except its Seq, Session and Key. Nil
	// content leaves the content unchanged; the content of a consumed receipt is deleted. The
	// error matches [ErrUnknown] for an unknown receipt, and [ErrEnded] if a final receipt would
	// become open again.
	SaveReceipt(ctx context.Context, r Receipt) error
	// OpenReceipts returns every receipt that is not final, with its content, in the order of Seq.
	// The error names receipts that cannot be read; the others are returned together with the
	// error.
	OpenReceipts(ctx context.Context) ([]Receipt, error)
	// Receipt returns one receipt, with its content unless it is consumed. The error matches
	// [ErrUnknown] if there is no such receipt.
	Receipt(ctx context.Context, id string) (Receipt, error)
	// EndedReceipts returns final receipts without content, by UpdatedAt, newest first: those of
	// the session, or of all sessions if it is empty. It returns at most limit receipts; all if
	// limit is not positive.
	EndedReceipts(ctx context.Context, session string, limit int) ([]Receipt, error)
	// DeleteReceipts removes final receipts that were last updated before the given time, and
	// returns their number.
	DeleteReceipts(ctx context.Context, before time.Time) (int, error)
	Mover
}

// Mover changes the session of a receipt.
type Mover interface {
	// MoveReceipt works like SaveReceipt but also stores the Session of r, in the same
	// transaction. It is for an agent that has another session now.
	MoveReceipt(ctx context.Context, r Receipt) error
}
