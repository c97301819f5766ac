package usage

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Store keeps entries. Safe for concurrent use.
//
// An error that matches client.ErrUnavailable says that the store cannot be reached
// now. Entries that it came with may be kept all the same: a caller that gets one
// puts them again, which changes nothing the second time.
type Store interface {
	// PutUsage adds entries, all of them or none; one whose key is there already is
	// replaced by what [Merge] makes of the two. The answer has, in the order of
	// the entries, the result of each. They survive the end of the process when it
	// returns.
	PutUsage(ctx context.Context, entries []Entry) ([]StoreResult, error)
	// Usage returns the entries since a time, oldest first; all that are kept if it
	// is zero. What cannot be read is left out and named in the error; the others
	// are returned beside it.
	Usage(ctx context.Context, since time.Time) ([]Entry, error)
}

// StoreResult is the result of storing an entry.
type StoreResult struct {
	Before *Entry // what was kept under its key before; nil: nothing
	After  Entry
}

// Changed reports whether the entry reported anything new.
func (k StoreResult) Changed() bool { return k.Before == nil || !reflect.DeepEqual(*k.Before, k.After) }

// Memory is a [Store] that forgets everything when its process ends. The zero value
// is empty.
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
