package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory is a [Store], [PendingStore], [WaitStore] and [HistoryStore] in memory: its contents are
// lost when the process exits. The zero value is empty.
type Memory struct {
	mu      sync.Mutex
	records map[Key]Record
	pending map[string]Pending
	waits   map[string]Wait
	history map[Key][]InstanceRecord // ascending epochs
}

var (
	_ Store        = (*Memory)(nil)
	_ PendingStore = (*Memory)(nil)
	_ WaitStore    = (*Memory)(nil)
	_ HistoryStore = (*Memory)(nil)
)

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
	r.Token, r.Handle = "", "" // never stored
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

// LoadPending implements [PendingStore].
func (m *Memory) LoadPending(context.Context) ([]Pending, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.SortedFunc(maps.Values(m.pending), func(a, b Pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	for i := range out {
		out[i].Options = slices.Clone(out[i].Options)
	}
	return out, nil
}

// SavePending implements [PendingStore].
func (m *Memory) SavePending(_ context.Context, p Pending) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending == nil {
		m.pending = map[string]Pending{}
	}
	p.Options = slices.Clone(p.Options)
	m.pending[p.ID] = p
	return nil
}

// RemovePending implements [PendingStore].
func (m *Memory) RemovePending(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pending, id)
	return nil
}

// LoadWaits implements [WaitStore].
func (m *Memory) LoadWaits(context.Context) ([]Wait, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.waits), func(a, b Wait) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}), nil
}

// SaveWait implements [WaitStore].
func (m *Memory) SaveWait(_ context.Context, w Wait) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waits == nil {
		m.waits = map[string]Wait{}
	}
	m.waits[w.ID] = w
	return nil
}

// RemoveWait implements [WaitStore].
func (m *Memory) RemoveWait(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waits, id)
	return nil
}

// SaveInstance implements [HistoryStore].
func (m *Memory) SaveInstance(_ context.Context, i InstanceRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.history == nil {
		m.history = map[Key][]InstanceRecord{}
	}
	kept := m.history[i.Key()]
	at, known := slices.BinarySearchFunc(kept, i, func(a, b InstanceRecord) int { return cmp.Compare(a.Epoch, b.Epoch) })
	if known {
		kept[at] = i
	} else {
		kept = slices.Insert(kept, at, i)
	}
	m.history[i.Key()] = kept[max(0, len(kept)-MaxInstances):]
	return nil
}

// Instances implements [HistoryStore].
func (m *Memory) Instances(_ context.Context, key Key, limit int) ([]InstanceRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.history[key])
	slices.Reverse(out)
	if limit > 0 {
		out = out[:min(limit, len(out))]
	}
	return out, nil
}

// clone returns a copy. Fingerprints and exits are replaced and never changed in place, so the
// copy shares them.
func (r *Record) clone() Record {
	c := *r
	c.Failures = slices.Clone(r.Failures)
	return c
}
