package usage

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Store stores usage entries. Safe for concurrent use.
//
// An error that matches client.ErrUnavailable means that the store cannot be used now. The entries
// of the failed call may be stored nevertheless. The caller stores them again, which has no effect
// if they were stored.
type Store interface {
	// PutUsage stores all entries or none. An entry whose key is already stored is combined with
	// the stored one by [Merge]. The results have the order of the entries. When PutUsage returns,
	// the entries survive an exit of the process.
	PutUsage(ctx context.Context, entries []Entry) ([]StoreResult, error)
	// Usage returns the entries since a time, oldest first; all entries if it is zero. The error
	// names entries that cannot be read; the others are returned together with the error.
	Usage(ctx context.Context, since time.Time) ([]Entry, error)
}

// StoreResult is the result of storing an entry.
type StoreResult struct {
	Before *Entry // the stored entry with the same key before; nil: none
	After  Entry
}

// Changed reports whether the entry changed what is stored.
func (k StoreResult) Changed() bool { return k.Before == nil || !reflect.DeepEqual(*k.Before, k.After) }

// Memory is a [Store] in memory: its contents are lost when the process exits. The zero value is
// empty.
type Memory struct {
	mu      sync.Mutex
	entries map[Key]Entry
}

var _ Store = (*Memory)(nil)

// PutUsage implements [Store].
func (m *Memory) PutUsage(_ context.Context, entries []Entry) ([]StoreResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[Key]Entry{}
	}
	out := make([]StoreResult, 0, len(entries))
	for _, e := range entries {
		k := StoreResult{After: e}
		if was, known := m.entries[e.Key()]; known {
			k = StoreResult{&was, Merge(was, e)}
		}
		m.entries[e.Key()] = k.After
		out = append(out, k)
	}
	return out, nil
}

// Usage implements [Store].
func (m *Memory) Usage(_ context.Context, since time.Time) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Entry{}
	for _, e := range m.entries {
		if !e.At.Before(since) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Message, b.Message))
	})
	return out, nil
}
