package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
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

// PendingStore keeps pending interactions. Its rules are those of [Store].
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

// Memory is a [Store] that forgets everything when its process ends. The zero
// value is empty.
type Memory struct {
	mu      sync.Mutex
	records map[Key]Record
}

var _ Store = (*Memory)(nil)

// Load implements [Store].
func (m *Memory) Load(context.Context) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Record, 0, len(m.records))
	for _, r := range m.records {
		out = append(out, r.clone())
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Provider, b.Provider))
	})
	return out, nil
}

// Save implements [Store].
func (m *Memory) Save(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[Key]Record{}
	}
	m.records[r.Key()] = r.clone()
	return nil
}

// Remove implements [Store].
func (m *Memory) Remove(_ context.Context, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
	return nil
}

// clone copies what the copy's owner may change. Fingerprints and exits are
// replaced and never changed, so they are shared.
func (r *Record) clone() Record {
	c := *r
	c.Failures = slices.Clone(r.Failures)
	return c
}
