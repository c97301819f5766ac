package session

import (
	"context"
)

// Store stores records. The controller is the only writer; it saves a record only when it has
// changed. Safe for concurrent use.
type Store interface {
	// Load returns all records, sorted by key. The error names records that cannot be read; the
	// others are returned together with the error.
	Load(ctx context.Context) ([]Record, error)
	// Save replaces the record with the same key.
	Save(ctx context.Context, r Record) error
	// Remove deletes the record. It returns nil for an unknown key.
	Remove(ctx context.Context, key Key) error
}

// PendingStore stores pending questions. It follows the rules of [Store].
type PendingStore interface {
	// LoadPending returns all stored questions, oldest first.
	LoadPending(ctx context.Context) ([]Pending, error)
	SavePending(ctx context.Context, p Pending) error
	RemovePending(ctx context.Context, id string) error
}

// WaitStore stores registered waits. It follows the rules of [Store].
type WaitStore interface {
	// LoadWaits returns all stored waits, oldest first.
	LoadWaits(ctx context.Context) ([]Wait, error)
	SaveWait(ctx context.Context, w Wait) error
	RemoveWait(ctx context.Context, id string) error
}
