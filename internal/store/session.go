package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/internal/domain/session"
)

var (
	_ session.Store        = (*DB)(nil)
	_ session.PendingStore = (*DB)(nil)
	_ session.WaitStore    = (*DB)(nil)
)

// shortestToken is the minimum length of a token that is masked in a record. A shorter text is not
// a secret and may be part of any word.
const shortestToken = 8

// Load returns all session records. It implements session.Store.
func (d *DB) Load(ctx context.Context) ([]session.Record, error) {
	return load[session.Record](ctx, d, "session record",
		"SELECT session || ' (' || provider || ')', body FROM session ORDER BY session, provider")
}

// Save stores the record of a session, without the token of its instance. It implements
// session.Store.
func (d *DB) Save(ctx context.Context, r session.Record) error {
	body, err := d.opts.Secrets.Encode(r, "conversation", "stored")
	if err != nil {
		return fmt.Errorf("cannot save the record of %s: %w", r.Session, err)
	}
	if len(r.Token) >= shortestToken {
		body = bytes.ReplaceAll(body, []byte(r.Token), []byte("[token]"))
	}
	return d.exec(ctx, "save a session record", "INSERT OR REPLACE INTO session VALUES (?, ?, ?)", r.Provider, r.Session, string(body))
}

// Remove deletes a session record. It implements session.Store.
func (d *DB) Remove(ctx context.Context, key session.Key) error {
	return d.exec(ctx, "delete a session record", "DELETE FROM session WHERE session = ? AND provider = ?", key.Session, key.Provider)
}

// LoadPending returns all stored questions, oldest first. It implements session.PendingStore.
func (d *DB) LoadPending(ctx context.Context) ([]session.Pending, error) {
	return load[session.Pending](ctx, d, "question", "SELECT id, body FROM pending ORDER BY since, id")
}

// SavePending stores a question in place of the one with the same ID. It implements
// session.PendingStore.
func (d *DB) SavePending(ctx context.Context, p session.Pending) error {
	return d.put(ctx, "save a question", p, nil, "INSERT OR REPLACE INTO pending VALUES (?, ?, ?)", p.ID, nanos(p.Since))
}

// RemovePending deletes a question. It implements session.PendingStore.
func (d *DB) RemovePending(ctx context.Context, id string) error {
	return d.exec(ctx, "delete a question", "DELETE FROM pending WHERE id = ?", id)
}

// LoadWaits returns all stored waits, oldest first. It implements session.WaitStore.
func (d *DB) LoadWaits(ctx context.Context) ([]session.Wait, error) {
	return load[session.Wait](ctx, d, "wait", "SELECT id, body FROM wait ORDER BY since, id")
}

// SaveWait stores a wait in place of the one with the same ID. It implements session.WaitStore.
func (d *DB) SaveWait(ctx context.Context, w session.Wait) error {
	exact := []string{"target", "arg", "owner", "owner_conversation", "text"}
	return d.put(ctx, "save a wait", w, exact, "INSERT OR REPLACE INTO wait VALUES (?, ?, ?)", w.ID, nanos(w.CreatedAt))
}

// RemoveWait deletes a wait. It implements session.WaitStore.
func (d *DB) RemoveWait(ctx context.Context, id string) error {
	return d.exec(ctx, "delete a wait", "DELETE FROM wait WHERE id = ?", id)
}

// put runs a statement whose arguments are keys and, as the last one, the value as JSON. The members exact are not masked.
func (d *DB) put(ctx context.Context, op string, value any, exact []string, query string, keys ...any) error {
	body, err := d.opts.Secrets.Encode(value, exact...)
	if err != nil {
		return fmt.Errorf("cannot %s %v: %w", op, keys, err)
	}
	return d.exec(ctx, op, query, append(keys, string(body))...)
}

// exec runs one statement, whose effect survives a kill. op names the operation in errors.
func (d *DB) exec(ctx context.Context, op, query string, args ...any) error {
	return d.write(ctx, op, survivesKill, func(ctx context.Context, t *tx) error { return t.exec(ctx, query, args...) })
}

// load returns the results of a query for names and bodies. The error names rows that cannot be
// decoded.
func load[T any](ctx context.Context, d *DB, kind, query string, args ...any) (found []T, err error) {
	var bad error
	err = d.read(ctx, "read each "+kind, func(ctx context.Context, t *sql.Tx) (err error) {
		found, bad, err = decodeAll[T](ctx, t, kind, query, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, bad
}

// decodeAll does the work of [load] within a transaction. bad names the rows that cannot be decoded.
func decodeAll[T any](ctx context.Context, t *sql.Tx, kind, query string, args ...any) (found []T, bad, err error) {
	found = []T{}
	err = each(ctx, t, func(r *sql.Rows) error {
		var name string
		var body []byte
		if err := r.Scan(&name, &body); err != nil {
			return err
		}
		var one T
		if err := json.Unmarshal(body, &one); err != nil {
			bad = errors.Join(bad, &RowError{Kind: kind, Key: strings.TrimSpace(name), Err: err})
			return nil //nolint:nilerr // the others are read
		}
		found = append(found, one)
		return nil
	}, query, args...)
	return found, bad, err
}

// rows returns the limit for SQL: -1, which means all, if it is not positive.
func rows(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// nanos returns a time as a number for sorting: nanoseconds since 1970, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
