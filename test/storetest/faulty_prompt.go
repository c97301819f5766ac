package storetest

import (
	"context"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// AddReceipt stores a new receipt and its content, unless its key is known: then it returns the
// receipt with that key, unless the mode of f makes the call fail or hang. It implements
// prompt.Store.
func (f *Faulty) AddReceipt(ctx context.Context, r prompt.Receipt) (kept prompt.Receipt, known bool, err error) {
	err = f.write(ctx, func() error {
		kept, known, err = f.stores.Receipts.AddReceipt(ctx, r)
		return err
	})
	if err != nil {
		return prompt.Receipt{}, false, err
	}
	return kept, known, nil
}

// SaveReceipt replaces a stored receipt, except its number, session and key, unless the mode of f
// makes the call fail or hang. It implements prompt.Store.
func (f *Faulty) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	return f.write(ctx, func() error { return f.stores.Receipts.SaveReceipt(ctx, r) })
}

// MoveReceipt replaces a stored receipt, including its session, unless the mode of f makes the call
// fail or hang. It implements prompt.Store.
func (f *Faulty) MoveReceipt(ctx context.Context, r prompt.Receipt) error {
	return f.write(ctx, func() error { return f.stores.Receipts.MoveReceipt(ctx, r) })
}

// OpenReceipts returns all receipts that are not final, with their contents, unless the mode of f
// makes the call fail or hang. It implements prompt.Store.
func (f *Faulty) OpenReceipts(ctx context.Context) ([]prompt.Receipt, error) {
	return list(ctx, f, "open receipts", func() ([]prompt.Receipt, error) { return f.stores.Receipts.OpenReceipts(ctx) })
}

// Receipt returns a receipt of the underlying store. In the mode [Empty] there is none. It
// implements prompt.Store.
func (f *Faulty) Receipt(ctx context.Context, id string) (prompt.Receipt, error) {
	r, err := read(ctx, f, "receipt "+id, func() (prompt.Receipt, error) { return f.stores.Receipts.Receipt(ctx, id) })
	if err == nil && r.ID == "" {
		return prompt.Receipt{}, fmt.Errorf("receipt %s: %w", id, prompt.ErrUnknown)
	}
	return r, err
}

// EndedReceipts returns final receipts of a session, or of all sessions, newest first, unless the
// mode of f makes the call fail or hang. It implements prompt.Store.
func (f *Faulty) EndedReceipts(ctx context.Context, session string, limit int) ([]prompt.Receipt, error) {
	return list(ctx, f, fmt.Sprint("ended receipts ", session, limit), func() ([]prompt.Receipt, error) {
		return f.stores.Receipts.EndedReceipts(ctx, session, limit)
	})
}

// DeleteReceipts deletes final receipts that were last updated before a time, and returns their
// number, unless the mode of f makes the call fail or hang. It implements prompt.Store.
func (f *Faulty) DeleteReceipts(ctx context.Context, before time.Time) (n int, err error) {
	err = f.write(ctx, func() error {
		n, err = f.stores.Receipts.DeleteReceipts(ctx, before)
		return err
	})
	return n, err
}

// Append stores an event under the next ID, unless the mode of f makes the call fail or hang. It
// implements event.Log.
func (f *Faulty) Append(ctx context.Context, e client.Event) (out client.Event, err error) {
	err = f.write(ctx, func() error {
		out, err = f.stores.Events.Append(ctx, e)
		return err
	})
	return out, err
}

// afterResult contains the results of After.
type afterResult struct {
	events []client.Event
	gap    bool
}

// After returns the events after an ID, and whether some of them are missing, unless the mode of f
// makes the call fail or hang. It implements event.Log.
func (f *Faulty) After(ctx context.Context, id uint64) ([]client.Event, bool, error) {
	page, err := read(ctx, f, fmt.Sprint("events after ", id), func() (page afterResult, err error) {
		page.events, page.gap, err = f.stores.Events.After(ctx, id)
		return page, err
	})
	return page.events, page.gap, err
}

// Page returns at most limit events after an ID, unless the mode of f makes the call fail or hang.
// It implements event.Log.
func (f *Faulty) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	return read(ctx, f, fmt.Sprint("page after ", id, " of ", limit), func() ([]client.Event, error) { return f.stores.Events.Page(ctx, id, limit) })
}

// Since returns the ID of the newest event that is older than a time, unless the mode of f makes
// the call fail or hang. It implements event.Log.
func (f *Faulty) Since(ctx context.Context, t time.Time) (uint64, error) {
	return read(ctx, f, "events since "+t.String(), func() (uint64, error) { return f.stores.Events.Since(ctx, t) })
}

// Wait waits for an event in the underlying log. Only the modes Hangs and Fails change that. It
// implements event.Log.
func (f *Faulty) Wait(ctx context.Context, id uint64) error {
	if mode, err := f.state(ctx); mode == Fails {
		return err
	}
	return f.stores.Events.Wait(ctx, id)
}
