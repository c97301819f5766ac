package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

// table has values in memory by their keys. Safe for concurrent use; the zero value is empty.
type table[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
}

// put stores a value in place of the one with the same key.
func (t *table[K, V]) put(key K, value V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.values == nil {
		t.values = map[K]V{}
	}
	t.values[key] = value
}

// remove deletes the values for which gone returns true.
func (t *table[K, V]) remove(gone func(K, V) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.values, gone)
}

// list returns all values in the order of compare.
func (t *table[K, V]) list(compare func(a, b V) int) ([]V, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.values), compare), nil
}

// Sessions is a [session.Store], [session.PendingStore] and
// [session.WaitStore] in memory: its contents are lost when the process exits. The zero value is empty.
type Sessions struct {
	records table[session.Key, session.Record]
	pending table[string, session.Pending]
	waits   table[string, session.Wait]
}

var (
	_ session.Store        = (*Sessions)(nil)
	_ session.PendingStore = (*Sessions)(nil)
	_ session.WaitStore    = (*Sessions)(nil)
)

// Load returns all session records. It implements [session.Store].
func (m *Sessions) Load(context.Context) ([]session.Record, error) {
	out, err := m.records.list(func(a, b session.Record) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Provider, b.Provider))
	})
	for i := range out {
		out[i] = cloneRecord(out[i])
	}
	return out, err
}

// Save stores a session record in place of the one with the same key. It implements
// [session.Store].
func (m *Sessions) Save(_ context.Context, r session.Record) error {
	r.Token = "" // never stored
	m.records.put(r.Key(), cloneRecord(r))
	return nil
}

// Remove deletes a session record. It implements [session.Store].
func (m *Sessions) Remove(_ context.Context, key session.Key) error {
	m.records.remove(func(k session.Key, _ session.Record) bool { return k == key })
	return nil
}

// LoadPending returns all stored questions, oldest first. It implements [session.PendingStore].
func (m *Sessions) LoadPending(context.Context) ([]session.Pending, error) {
	out, err := m.pending.list(func(a, b session.Pending) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	for i := range out {
		out[i].Options = slices.Clone(out[i].Options)
	}
	return out, err
}

// SavePending stores a question in place of the one with the same ID. It implements
// [session.PendingStore].
func (m *Sessions) SavePending(_ context.Context, p session.Pending) error {
	p.Options = slices.Clone(p.Options)
	m.pending.put(p.ID, p)
	return nil
}

// RemovePending deletes a question. It implements [session.PendingStore].
func (m *Sessions) RemovePending(_ context.Context, id string) error {
	m.pending.remove(func(key string, _ session.Pending) bool { return key == id })
	return nil
}

// LoadWaits returns all stored waits, oldest first. It implements [session.WaitStore].
func (m *Sessions) LoadWaits(context.Context) ([]session.Wait, error) {
	return m.waits.list(func(a, b session.Wait) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
}

// SaveWait stores a wait in place of the one with the same ID. It implements [session.WaitStore].
func (m *Sessions) SaveWait(_ context.Context, w session.Wait) error {
	m.waits.put(w.ID, w)
	return nil
}

// RemoveWait deletes a wait. It implements [session.WaitStore].
func (m *Sessions) RemoveWait(_ context.Context, id string) error {
	m.waits.remove(func(key string, _ session.Wait) bool { return key == id })
	return nil
}

// cloneRecord returns a copy. Fingerprints and exits are replaced and never changed in place, so the
// copy shares them.
func cloneRecord(r session.Record) session.Record {
	r.Failures = slices.Clone(r.Failures)
	return r
}

// Receipts is a [prompt.Store] in memory: its contents are lost when the process exits. The zero value is
// empty.
type Receipts struct {
	mu       sync.Mutex
	seq      uint64
	receipts map[string]prompt.Receipt
}

var _ prompt.Store = (*Receipts)(nil)

// AddReceipt stores a new receipt, with its content if it still needs it. If a receipt with the same
// key exists, it returns that receipt and true. It implements [prompt.Store].
func (m *Receipts) AddReceipt(_ context.Context, r prompt.Receipt) (prompt.Receipt, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.receipts {
		if r.Key != "" && other.Key == r.Key {
			return cloneReceipt(other), true, nil
		}
	}
	if _, taken := m.receipts[r.ID]; taken {
		return prompt.Receipt{}, false, fmt.Errorf("cannot store receipt %s: another receipt has this id", r.ID)
	}
	if m.receipts == nil {
		m.receipts = map[string]prompt.Receipt{}
	}
	m.seq++
	r.Seq = m.seq
	r = cloneReceipt(r)
	if !r.NeedsContent() {
		r.Content = nil
	}
	m.receipts[r.ID] = r
	return cloneReceipt(r), false, nil
}

// SaveReceipt replaces a stored receipt, except its number, session and key. It implements
// [prompt.Store].
func (m *Receipts) SaveReceipt(_ context.Context, r prompt.Receipt) error { return m.save(r, false) }

// MoveReceipt replaces a stored receipt, including its session. It implements [prompt.Store].
func (m *Receipts) MoveReceipt(_ context.Context, r prompt.Receipt) error { return m.save(r, true) }

// save replaces a receipt. If moved is true, the session of the receipt may change.
func (m *Receipts) save(r prompt.Receipt, moved bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.receipts[r.ID]
	if !ok {
		return fmt.Errorf("cannot save receipt %s: %w", r.ID, prompt.ErrUnknown)
	}
	if old.Final() && !r.Final() {
		return fmt.Errorf("cannot save receipt %s as %s: %w (%s)", r.ID, r.State, prompt.ErrEnded, old.State)
	}
	r = cloneReceipt(r)
	r.Seq, r.Key = old.Seq, old.Key
	if !moved {
		r.Session = old.Session
	}
	if r.Content == nil {
		r.Content = old.Content
	}
	if !r.NeedsContent() {
		r.Content = nil
	}
	m.receipts[r.ID] = r
	return nil
}

// OpenReceipts returns all receipts that are not final, with their contents. It implements
// [prompt.Store].
func (m *Receipts) OpenReceipts(context.Context) ([]prompt.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pickLocked(func(r prompt.Receipt) bool { return !r.Final() }), nil
}

// Receipt returns one receipt by its ID. It implements [prompt.Store].
func (m *Receipts) Receipt(_ context.Context, id string) (prompt.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.receipts[id]
	if !ok {
		return prompt.Receipt{}, fmt.Errorf("receipt %s: %w", id, prompt.ErrUnknown)
	}
	return cloneReceipt(r), nil
}

// EndedReceipts returns final receipts of a session, or of all sessions, newest first. It
// implements [prompt.Store].
func (m *Receipts) EndedReceipts(_ context.Context, session string, limit int) ([]prompt.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := m.pickLocked(func(r prompt.Receipt) bool { return r.Final() && (session == "" || r.Session == session) })
	slices.SortStableFunc(ended, func(a, b prompt.Receipt) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.Seq, a.Seq))
	})
	if limit > 0 {
		ended = ended[:min(limit, len(ended))]
	}
	for i := range ended {
		ended[i].Content = nil
	}
	return ended, nil
}

// DeleteReceipts deletes final receipts that were last updated before a time, and returns their
// number. It implements [prompt.Store].
func (m *Receipts) DeleteReceipts(_ context.Context, before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := len(m.receipts)
	maps.DeleteFunc(m.receipts, func(_ string, r prompt.Receipt) bool { return r.Final() && r.UpdatedAt.Before(before) })
	return had - len(m.receipts), nil
}

// pickLocked returns copies of the receipts for which wanted returns true, in the order of Seq.
func (m *Receipts) pickLocked(wanted func(prompt.Receipt) bool) []prompt.Receipt {
	var out []prompt.Receipt
	for _, r := range m.receipts {
		if wanted(r) {
			out = append(out, cloneReceipt(r))
		}
	}
	slices.SortFunc(out, func(a, b prompt.Receipt) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// cloneReceipt returns a copy with its own content and steps.
func cloneReceipt(r prompt.Receipt) prompt.Receipt {
	r.Content, r.Steps = slices.Clone(r.Content), slices.Clone(r.Steps)
	return r
}

// Usage is a [usage.Store] in memory: its contents are lost when the process exits. The zero value is
// empty.
type Usage struct {
	mu      sync.Mutex
	entries map[usage.Key]usage.Entry
}

var _ usage.Store = (*Usage)(nil)

// PutUsage stores usage entries and returns for each what was stored before and after. It
// implements [usage.Store].
func (m *Usage) PutUsage(_ context.Context, entries []usage.Entry) ([]usage.StoreResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[usage.Key]usage.Entry{}
	}
	out := make([]usage.StoreResult, 0, len(entries))
	for _, e := range entries {
		k := usage.StoreResult{After: e}
		if was, known := m.entries[e.Key()]; known {
			k = usage.StoreResult{Before: &was, After: usage.Merge(was, e)}
		}
		m.entries[e.Key()] = k.After
		out = append(out, k)
	}
	return out, nil
}

// Usage returns the usage entries since a time, oldest first. It implements [usage.Store].
func (m *Usage) Usage(_ context.Context, since time.Time) ([]usage.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []usage.Entry{}
	for _, e := range m.entries {
		if !e.At.Before(since) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b usage.Entry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Message, b.Message))
	})
	return out, nil
}

// Events is a [event.Log] in memory that keeps only the most recent events.
type Events struct {
	retain int
	base   uint64 // the id before the first
	now    func() time.Time

	mu     sync.Mutex
	last   uint64         // id of the newest event, base if there is none
	events []client.Event // the newest, with consecutive ids
	grown  chan struct{}  // closed and replaced by each Append
}

var _ event.Log = (*Events)(nil)

// NewEvents returns an empty log that keeps at least retain events (1 or more)
// and whose first id is base+1. A base that grows from one log of a city to the
// next, such as the time, lets readers that resume notice the change.
func NewEvents(retain int, base uint64, now func() time.Time) *Events {
	return &Events{retain: max(1, retain), base: base, last: base, now: now, grown: make(chan struct{})}
}

// Append appends an event and never fails. It implements [event.Log].
func (m *Events) Append(_ context.Context, e client.Event) (client.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	e.ID = m.last
	if e.Time.IsZero() {
		e.Time = m.now()
	}
	m.events = append(m.events, e)
	if len(m.events) >= 2*m.retain { // amortized: one copy for every retain events
		m.events = slices.Clone(m.events[len(m.events)-m.retain:])
	}
	close(m.grown)
	m.grown = make(chan struct{})
	return e, nil
}

// After returns the events after an ID, and whether some of them are missing. It implements
// [event.Log].
func (m *Events) After(_ context.Context, id uint64) ([]client.Event, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.last - uint64(len(m.events)) + 1
	switch {
	case id == 0:
		return slices.Clone(m.events), first > m.base+1, nil
	case id > m.last, id+1 < first:
		return slices.Clone(m.events), true, nil
	}
	return slices.Clone(m.events[id+1-first:]), false, nil
}

// Page returns at most limit events after an ID. It implements [event.Log].
func (m *Events) Page(_ context.Context, id uint64, limit int) ([]client.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	if first := m.last - uint64(len(events)) + 1; id >= first && id <= m.last {
		events = events[id+1-first:]
	}
	return slices.Clone(events[:min(len(events), max(1, limit))]), nil
}

// Since returns the ID of the newest event that is older than a time. It implements [event.Log].
func (m *Events) Since(_ context.Context, t time.Time) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range slices.Backward(m.events) {
		if e.Time.Before(t) {
			return e.ID, nil
		}
	}
	return 0, nil
}

// Wait waits until there is an event with a greater ID. It implements [event.Log].
func (m *Events) Wait(ctx context.Context, id uint64) error {
	for {
		m.mu.Lock()
		grown, last := m.grown, m.last
		m.mu.Unlock()
		if last > max(id, m.base) {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
