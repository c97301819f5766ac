package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gascity/internal/domain/usage"
)

var _ usage.Store = (*DB)(nil)

// PutUsage implements usage.Store.
func (d *DB) PutUsage(ctx context.Context, entries []usage.Entry) ([]usage.StoreResult, error) {
	var kept []usage.StoreResult // the writer's until it is done
	err := d.write(ctx, "keep what was spent", survivesKill, func(ctx context.Context, t *tx) error {
		kept = make([]usage.StoreResult, 0, len(entries)) // it may be tried again
		for _, e := range entries {
			k, err := d.putUsage(ctx, t, e)
			if err != nil {
				return err
			}
			kept = append(kept, k)
		}
		return d.deleteUsage(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// putUsage keeps one entry. What was kept under its key and cannot be read any more
// is replaced.
func (d *DB) putUsage(ctx context.Context, t *tx, e usage.Entry) (usage.StoreResult, error) {
	k := usage.StoreResult{After: e}
	var body []byte
	found, err := t.row(ctx, "SELECT body FROM usage WHERE run = ? AND message = ?", []any{e.Run, e.Message}, []any{&body})
	if err != nil {
		return k, err
	}
	var was usage.Entry
	if found && json.Unmarshal(body, &was) == nil {
		k = usage.StoreResult{Before: &was, After: usage.Merge(was, e)}
		if !k.Changed() {
			return k, nil
		}
	}
	text, err := d.opts.Secrets.Encode(k.After)
	if err != nil {
		return k, fmt.Errorf("cannot keep what %s spent: %w", e.Session, err)
	}
	return k, t.exec(ctx, "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", e.Run, e.Message, nanos(k.After.At), string(text))
}

// Usage implements usage.Store.
func (d *DB) Usage(ctx context.Context, since time.Time) ([]usage.Entry, error) {
	return load[usage.Entry](ctx, d, "entry of what was spent",
		"SELECT run || ' ' || message, body FROM usage WHERE at >= ? ORDER BY at, run, message", nanos(since))
}

// usagePruning is when entries were last looked through for those to forget.
type usagePruning struct {
	at   time.Time
	more bool // there were more
}

const (
	// usageEvery is how often entries are looked through, usageBatch how many go at
	// once.
	usageEvery = 10 * time.Minute
	usageBatch = 500
)

// deleteUsage removes a portion of what is too old or too much.
func (d *DB) deleteUsage(ctx context.Context, t *tx) error {
	now := d.opts.Now()
	if !d.usagePruning.more && now.Sub(d.usagePruning.at) < usageEvery && !now.Before(d.usagePruning.at) {
		return nil
	}
	var count int
	if _, err := t.row(ctx, "SELECT count(*) FROM usage", nil, []any{&count}); err != nil {
		return err
	}
	before := nanos(now.Add(-d.opts.Retain.UsageAge))
	gone, err := t.change(ctx, "DELETE FROM usage WHERE (run, message) IN (SELECT run, message FROM usage WHERE at < ? ORDER BY at LIMIT ?)", before, usageBatch)
	if err != nil {
		return err
	}
	if over := count - int(gone) - d.opts.Retain.Usage; over > 0 {
		more, err := t.change(ctx, "DELETE FROM usage WHERE (run, message) IN (SELECT run, message FROM usage ORDER BY at LIMIT ?)", min(over, usageBatch))
		if err != nil {
			return err
		}
		gone += more
	}
	d.usagePruning = usagePruning{now, gone >= usageBatch}
	if gone == 0 {
		return nil
	}
	return t.vacuumUnused(ctx)
}
