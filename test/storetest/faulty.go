package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

// ErrFault is the default error of a failing [Faulty].
var ErrFault = fmt.Errorf("the store is broken by the test: %w", client.ErrUnavailable)

// Stores contains the stores of a city. A test may leave out those that it does not use.
type Stores struct {
	Records  session.Store
	Pending  session.PendingStore
	Waits    session.WaitStore
	Receipts prompt.Store
	Events   event.Log
	Usage    usage.Store

	Notifications notification.Store
}

// Memory returns empty stores in memory. The log keeps 10,000 events.
func Memory(now func() time.Time) Stores {
	sessions := &Sessions{}
	return Stores{
		Records: sessions, Pending: sessions, Waits: sessions,
		Receipts: &Receipts{}, Events: NewEvents(10_000, 0, now), Usage: &Usage{},
		Notifications: &Notifications{},
	}
}

// Mode is the behavior of a [Faulty].
type Mode int

// The modes.
const (
	Works        Mode = iota
	Fails             // every call returns an error
	FailsWrites       // reads work, as on a full disk
	LosesAnswers      // a write takes effect but returns an error
	Hangs             // every call blocks until its ctx is done or the mode changes
	Stale             // reads return their last result, writes work
	Empty             // reads return nothing and no error, writes work
)

// Faulty implements all stores of a city and simulates faults. Safe for concurrent use.
type Faulty struct {
	stores Stores

	mu          sync.Mutex
	mode        Mode
	err         error
	changed     chan struct{}  // closed and replaced by each Set
	lastResults map[string]any // the last result of each read
	tries       int
	writes      int
}

var (
	_ session.Store        = (*Faulty)(nil)
	_ session.PendingStore = (*Faulty)(nil)
	_ session.WaitStore    = (*Faulty)(nil)
	_ prompt.Store         = (*Faulty)(nil)
	_ event.Log            = (*Faulty)(nil)
	_ usage.Store          = (*Faulty)(nil)
)

// NewFaulty returns a Faulty that works until a fault is set.
func NewFaulty(s Stores) *Faulty {
	return &Faulty{stores: s, err: ErrFault, changed: make(chan struct{}), lastResults: map[string]any{}}
}

// Set changes the mode. Blocked calls continue with the new mode.
func (f *Faulty) Set(m Mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = m
	close(f.changed)
	f.changed = make(chan struct{})
}

// FailWith sets the error of the failing modes; nil means [ErrFault].
func (f *Faulty) FailWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.err = ErrFault
	}
}

// Break makes every write fail with err; nil repairs the store.
func (f *Faulty) Break(err error) {
	f.FailWith(err)
	if err == nil {
		f.Set(Works)
	} else {
		f.Set(FailsWrites)
	}
}

// IsBroken reports whether the store has a fault.
func (f *Faulty) IsBroken() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mode != Works
}

// Tries returns the number of writes, including those that have failed.
func (f *Faulty) Tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tries
}

// Writes returns the number of writes that have reached the store.
func (f *Faulty) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// state returns the mode and the error of the failing modes, which is never nil. It waits while the mode is Hangs; if ctx ends
// first, it returns Fails and the cause of ctx.
func (f *Faulty) state(ctx context.Context) (Mode, error) {
	for {
		f.mu.Lock()
		mode, err, changed := f.mode, f.err, f.changed
		f.mu.Unlock()
		if mode != Hangs {
			return mode, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Fails, context.Cause(ctx)
		}
	}
}

// write calls change unless the mode makes writes fail. It returns the error that the mode requires.
func (f *Faulty) write(ctx context.Context, change func() error) error {
	mode, fault := f.state(ctx)
	refused := mode == Fails || mode == FailsWrites
	f.mu.Lock()
	f.tries++
	if !refused {
		f.writes++
	}
	f.mu.Unlock()
	if refused {
		return fault
	}
	err := change()
	if err == nil && mode == LosesAnswers {
		return fault
	}
	return err
}

// read returns the result of ask, or what the mode requires instead: an error, an empty result, or the last result for the same
// question.
func read[T any](ctx context.Context, f *Faulty, question string, ask func() (T, error)) (answer T, err error) {
	mode, fault := f.state(ctx)
	switch mode {
	case Fails:
		return answer, fault
	case Empty:
		return answer, nil
	case Stale:
		f.mu.Lock()
		old, known := f.lastResults[question].(T)
		f.mu.Unlock()
		if known {
			return old, nil
		}
	case Works, FailsWrites, LosesAnswers, Hangs:
	}
	answer, err = ask()
	if err == nil {
		f.mu.Lock()
		f.lastResults[question] = answer
		f.mu.Unlock()
	}
	return answer, err
}

// list works like [read] and returns a copy that the caller may change.
func list[T any](ctx context.Context, f *Faulty, question string, ask func() ([]T, error)) ([]T, error) {
	answer, err := read(ctx, f, question, ask)
	return slices.Clone(answer), err
}

// Load returns all session records, unless the mode of f makes the call fail or hang. It implements session.Store.
func (f *Faulty) Load(ctx context.Context) ([]session.Record, error) {
	return list(ctx, f, "records", func() ([]session.Record, error) { return f.stores.Records.Load(ctx) })
}

// Save stores a session record in place of the one with the same key, unless the mode of f makes the call fail or hang. It
// implements session.Store.
func (f *Faulty) Save(ctx context.Context, r session.Record) error {
	return f.write(ctx, func() error { return f.stores.Records.Save(ctx, r) })
}

// Remove deletes a session record, unless the mode of f makes the call fail or hang. It implements session.Store.
func (f *Faulty) Remove(ctx context.Context, key session.Key) error {
	return f.write(ctx, func() error { return f.stores.Records.Remove(ctx, key) })
}

// LoadPending returns all stored questions, oldest first, unless the mode of f makes the call fail or hang. It implements
// session.PendingStore.
func (f *Faulty) LoadPending(ctx context.Context) ([]session.Pending, error) {
	return list(ctx, f, "pending", func() ([]session.Pending, error) { return f.stores.Pending.LoadPending(ctx) })
}

// SavePending stores a question in place of the one with the same ID, unless the mode of f makes the call fail or hang. It
// implements session.PendingStore.
func (f *Faulty) SavePending(ctx context.Context, p session.Pending) error {
	return f.write(ctx, func() error { return f.stores.Pending.SavePending(ctx, p) })
}

// RemovePending deletes a question, unless the mode of f makes the call fail or hang. It implements session.PendingStore.
func (f *Faulty) RemovePending(ctx context.Context, id string) error {
	return f.write(ctx, func() error { return f.stores.Pending.RemovePending(ctx, id) })
}

// LoadWaits returns all stored waits, oldest first, unless the mode of f makes the call fail or hang. It implements
// session.WaitStore.
func (f *Faulty) LoadWaits(ctx context.Context) ([]session.Wait, error) {
	return list(ctx, f, "waits", func() ([]session.Wait, error) { return f.stores.Waits.LoadWaits(ctx) })
}

// SaveWait stores a wait in place of the one with the same ID, unless the mode of f makes the call fail or hang. It implements
// session.WaitStore.
func (f *Faulty) SaveWait(ctx context.Context, w session.Wait) error {
	return f.write(ctx, func() error { return f.stores.Waits.SaveWait(ctx, w) })
}

// RemoveWait deletes a wait, unless the mode of f makes the call fail or hang. It implements session.WaitStore.
func (f *Faulty) RemoveWait(ctx context.Context, id string) error {
	return f.write(ctx, func() error { return f.stores.Waits.RemoveWait(ctx, id) })
}
