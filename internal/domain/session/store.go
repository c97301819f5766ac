package session

import (
	"context"
	"time"

	"gascity/runtime"
)

// Store keeps records. The controller is the only writer; it saves a record when
// it has changed and never otherwise. Safe for concurrent use.
type Store interface {
	// Load returns all records, sorted by key. One that cannot be read is left
	// out and named in the error; the others are returned beside it.
	Load(ctx context.Context) ([]Record, error)
	// Save replaces the record with the same key.
	Save(ctx context.Context, r Record) error
	// Remove forgets the record; an unknown key is nil.
	Remove(ctx context.Context, key Key) error
}

// PendingStore keeps pending questions. Its rules are those of [Store].
type PendingStore interface {
	// LoadPending returns all that are kept, oldest first.
	LoadPending(ctx context.Context) ([]Pending, error)
	SavePending(ctx context.Context, p Pending) error
	RemovePending(ctx context.Context, id string) error
}

// WaitStore keeps registered waits. Its rules are those of [Store].
type WaitStore interface {
	// LoadWaits returns all that are kept, oldest first.
	LoadWaits(ctx context.Context) ([]Wait, error)
	SaveWait(ctx context.Context, w Wait) error
	RemoveWait(ctx context.Context, id string) error
}

// InstanceRecord is one life of a session, for its history.
type InstanceRecord struct {
	Session   string        `json:"session"`
	Provider  string        `json:"provider"`
	Epoch     uint64        `json:"epoch"`
	Instance  string        `json:"instance,omitempty"` // public, see [PublicInstance]
	StartedAt time.Time     `json:"started_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // zero: its end is not known
	Exit      *runtime.Exit `json:"exit,omitempty"`    // nil: its end was not observed
	Reason    string        `json:"reason,omitempty"`  // why it ended, in words
}

// Key returns the key of the record that the instance belongs to.
func (i *InstanceRecord) Key() Key { return Key{i.Provider, i.Session} }

// MaxInstances is how many instances of one session a [HistoryStore]
// keeps; the one with the lowest epoch is forgotten first.
const MaxInstances = 100

// HistoryStore keeps how each instance ended. Its rules are those of [Store].
type HistoryStore interface {
	// SaveInstance replaces the instance of the same key and epoch.
	SaveInstance(ctx context.Context, i InstanceRecord) error
	// Instances returns the instances of one session, the latest epoch first,
	// at most limit of them; all if limit is not positive.
	Instances(ctx context.Context, key Key, limit int) ([]InstanceRecord, error)
}
