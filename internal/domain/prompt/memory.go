package prompt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory: its contents are lost when the process exits. The zero value is
// empty.
type Memory struct {
	mu       sync.Mutex
	seq      uint64
	receipts map[string]Receipt
}

var _ Store = (*Memory)(nil)

// AddReceipt implements [Store].
func (m *Memory) AddReceipt(_ context.Context, r Receipt) (Receipt, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.receipts {
		if r.Key != "" && other.Key == r.Key {
			return other.clone(), true, nil
		}
	}
	if _, taken := m.receipts[r.ID]; taken {
		return Receipt{}, false, fmt.Errorf("cannot keep receipt %s: the id is taken", r.ID)
	}
	if m.receipts == nil {
		m.receipts = map[string]Receipt{}
	}
	m.seq++
	r.Seq = m.seq
	r = r.clone()
	if !r.NeedsContent() {
		r.Content = nil
	}
	m.receipts[r.ID] = r
	return r.clone(), false, nil
}

// SaveReceipt implements [Store].
func (m *Memory) SaveReceipt(_ context.Context, r Receipt) error { return m.save(r, false) }

// MoveReceipt implements [Store].
func (m *Memory) MoveReceipt(_ context.Context, r Receipt) error { return m.save(r, true) }

// save replaces a receipt. If moved is true, the session of the receipt may change.
func (m *Memory) save(r Receipt, moved bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.receipts[r.ID]
	if !ok {
		return fmt.Errorf("cannot save receipt %s: %w", r.ID, ErrUnknown)
	}
	if old.Final() && !r.Final() {
		return fmt.Errorf("cannot save receipt %s as %s: %w (%s)", r.ID, r.State, ErrEnded, old.State)
	}
	r = r.clone()
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

// OpenReceipts implements [Store].
func (m *Memory) OpenReceipts(context.Context) ([]Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pickLocked(func(r Receipt) bool { return !r.Final() }), nil
}

// Receipt implements [Store].
func (m *Memory) Receipt(_ context.Context, id string) (Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.receipts[id]
	if !ok {
		return Receipt{}, fmt.Errorf("receipt %s: %w", id, ErrUnknown)
	}
	return r.clone(), nil
}

// EndedReceipts implements [Store].
func (m *Memory) EndedReceipts(_ context.Context, session string, limit int) ([]Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := m.pickLocked(func(r Receipt) bool { return r.Final() && (session == "" || r.Session == session) })
	slices.SortStableFunc(ended, func(a, b Receipt) int {
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

// DeleteReceipts implements [Store].
func (m *Memory) DeleteReceipts(_ context.Context, before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := len(m.receipts)
	maps.DeleteFunc(m.receipts, func(_ string, r Receipt) bool { return r.Final() && r.UpdatedAt.Before(before) })
	return had - len(m.receipts), nil
}

// pickLocked returns copies of the receipts for which wanted returns true, in the order of Seq.
func (m *Memory) pickLocked(wanted func(Receipt) bool) []Receipt {
	var out []Receipt
	for _, r := range m.receipts {
		if wanted(r) {
			out = append(out, r.clone())
		}
	}
	slices.SortFunc(out, func(a, b Receipt) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// clone returns a copy with its own content and steps.
func (r *Receipt) clone() Receipt {
	c := *r
	c.Content, c.Steps = slices.Clone(r.Content), slices.Clone(r.Steps)
	return c
}
