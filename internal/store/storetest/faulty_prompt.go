package storetest

import (
	"context"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// AddReceipt implements prompt.Store.
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

// SaveReceipt implements prompt.Store.
func (f *Faulty) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	return f.write(ctx, func() error { return f.stores.Receipts.SaveReceipt(ctx, r) })
}

// MoveReceipt implements prompt.Store.
func (f *Faulty) MoveReceipt(ctx context.Context, r prompt.Receipt) error {
	return f.write(ctx, func() error { return f.stores.Receipts.MoveReceipt(ctx, r) })
}

// OpenReceipts implements prompt.Store.
func (f *Faulty) OpenReceipts(ctx context.Context) ([]prompt.Receipt, error) {
	return list(ctx, f, "open receipts", func() ([]prompt.Receipt, error) { return f.stores.Receipts.OpenReceipts(ctx) })
}

// Receipt implements prompt.Store. In the mode [Empty] it knows no receipt.
func (f *Faulty) Receipt(ctx context.Context, id string) (prompt.Receipt, error) {
	r, err := read(ctx, f, "receipt "+id, func() (prompt.Receipt, error) { return f.stores.Receipts.Receipt(ctx, id) })
	if err == nil && r.ID == "" {
		return prompt.Receipt{}, fmt.Errorf("receipt %s: %w", id, prompt.ErrUnknown)
	}
	return r, err
}

// EndedReceipts implements prompt.Store.
func (f *Faulty) EndedReceipts(ctx context.Context, session string, limit int) ([]prompt.Receipt, error) {
	return list(ctx, f, fmt.Sprint("ended receipts ", session, limit), func() ([]prompt.Receipt, error) {
		return f.stores.Receipts.EndedReceipts(ctx, session, limit)
	})
}

// DeleteReceipts implements prompt.Store.
func (f *Faulty) DeleteReceipts(ctx context.Context, before time.Time) (n int, err error) {
	err = f.write(ctx, func() error {
		n, err = f.stores.Receipts.DeleteReceipts(ctx, before)
		return err
	})
	return n, err
}

// Append implements event.Log.
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

// After implements event.Log.
func (f *Faulty) After(ctx context.Context, id uint64) ([]client.Event, bool, error) {
	page, err := read(ctx, f, fmt.Sprint("events after ", id), func() (page afterResult, err error) {
		page.events, page.gap, err = f.stores.Events.After(ctx, id)
		return page, err
	})
	return page.events, page.gap, err
}

// Page implements event.Log.
func (f *Faulty) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	return read(ctx, f, fmt.Sprint("page after ", id, " of ", limit), func() ([]client.Event, error) { return f.stores.Events.Page(ctx, id, limit) })
}

// Since implements event.Log.
func (f *Faulty) Since(ctx context.Context, t time.Time) (uint64, error) {
	return read(ctx, f, "events since "+t.String(), func() (uint64, error) { return f.stores.Events.Since(ctx, t) })
}

// Wait implements event.Log. Only the modes Hangs and Fails affect it.
func (f *Faulty) Wait(ctx context.Context, id uint64) error {
	if mode, err := f.state(ctx); mode == Fails {
		return err
	}
	return f.stores.Events.Wait(ctx, id)
}
