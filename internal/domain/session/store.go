package session

import (
	"context"
	"time"

	"gascity/runtime"
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

// InstanceRecord describes one instance of a session in its history.
type InstanceRecord struct {
	Session   string        `json:"session"`
	Provider  string        `json:"provider"`
	Epoch     uint64        `json:"epoch"`
	Instance  string        `json:"instance,omitempty"` // public, see [PublicInstance]
	StartedAt time.Time     `json:"started_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // zero: unknown
	Exit      *runtime.Exit `json:"exit,omitempty"`    // nil: its exit was not observed
	Reason    string        `json:"reason,omitempty"`  // why it ended, for people
}

// Key returns the key of the record that the instance belongs to.
func (i *InstanceRecord) Key() Key { return Key{i.Provider, i.Session} }

// MaxInstances is the maximum number of instances of one session in a [HistoryStore]; the one with
// the lowest epoch is deleted first.
const MaxInstances = 100

// HistoryStore stores how each instance ended. It follows the rules of [Store].
type HistoryStore interface {
	// SaveInstance replaces the instance of the same key and epoch.
	SaveInstance(ctx context.Context, i InstanceRecord) error
	// Instances returns the instances of one session, the latest epoch first,
	// at most limit of them; all if limit is not positive.
	Instances(ctx context.Context, key Key, limit int) ([]InstanceRecord, error)
}
