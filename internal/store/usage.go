package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gascity/internal/domain/usage"
)

var _ usage.Store = (*DB)(nil)

// PutUsage stores usage entries and returns for each what was stored before and after. It also
// deletes entries that are too old. It implements usage.Store.
func (d *DB) PutUsage(ctx context.Context, entries []usage.Entry) ([]usage.StoreResult, error) {
	var results []usage.StoreResult // the writer sets it
	err := d.write(ctx, "save usage", survivesKill, func(ctx context.Context, t *tx) error {
		results = make([]usage.StoreResult, 0, len(entries)) // the writer may call this function again
		for _, e := range entries {
			k, err := d.putUsage(ctx, t, e)
			if err != nil {
				return err
			}
			results = append(results, k)
		}
		return d.deleteOldUsage(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// putUsage stores one entry. A stored entry with the same key that cannot be read is replaced.
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
		return k, fmt.Errorf("cannot save the usage of %s: %w", e.Session, err)
	}
	return k, t.exec(ctx, "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", e.Run, e.Message, nanos(k.After.At), string(text))
}

// Usage returns the usage entries since a time, oldest first. It implements usage.Store.
func (d *DB) Usage(ctx context.Context, since time.Time) ([]usage.Entry, error) {
	return load[usage.Entry](ctx, d, "usage entry",
		"SELECT run || ' ' || message, body FROM usage WHERE at >= ? ORDER BY at, run, message", nanos(since))
}

// usagePruning states when old usage entries were last removed.
type usagePruning struct {
	at   time.Time
	more bool // more of them may remain
}

const (
	// usageEvery is the time between two removals of old entries, usageBatch the maximum number of
	// entries that one removes.
	usageEvery = 10 * time.Minute
	usageBatch = 500
)

// deleteOldUsage removes one batch of entries that are too old or exceed the limit.
func (d *DB) deleteOldUsage(ctx context.Context, t *tx) error {
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
