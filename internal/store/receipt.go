package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

var _ prompt.Store = (*DB)(nil)

// AddReceipt stores a new receipt and its content, unless its key is known: then it returns the
// receipt with that key. It implements prompt.Store.
func (d *DB) AddReceipt(ctx context.Context, r prompt.Receipt) (kept prompt.Receipt, known bool, err error) {
	var added prompt.Receipt // the writer sets it
	var old bool
	err = d.write(ctx, "save a receipt", survivesPower, func(ctx context.Context, t *tx) (err error) {
		added, old, err = d.addReceipt(ctx, t, r)
		return err
	})
	switch {
	case err != nil:
		return prompt.Receipt{}, false, err
	case old:
		kept, err = d.Receipt(ctx, added.ID)
		return kept, err == nil, err
	}
	return added, false, nil
}

// addReceipt stores a receipt in a transaction. If the key is known, it returns only the ID of the
// known receipt.
func (d *DB) addReceipt(ctx context.Context, t *tx, r prompt.Receipt) (kept prompt.Receipt, known bool, err error) {
	var id string
	if r.Key != "" { // the condition key <> '' lets SQLite use the index receipt_key, which has only such rows
		known, err = t.row(ctx, "SELECT id FROM receipt WHERE key = ?1 AND key <> '' ORDER BY session = ?2 DESC LIMIT 1", []any{r.Key, r.Session}, []any{&id})
		if err != nil || known {
			return prompt.Receipt{ID: id}, known, err
		}
	}
	taken, err := t.row(ctx, "SELECT id FROM receipt WHERE id = ?", []any{r.ID}, []any{&id})
	if err != nil {
		return prompt.Receipt{}, false, err
	}
	if taken {
		return prompt.Receipt{}, false, fmt.Errorf("receipt %s: another receipt has this id", r.ID)
	}
	err = t.exec(ctx, "INSERT INTO receipt (id, session, key, final, updated, body) VALUES (?, ?, ?, ?, ?, '')",
		r.ID, r.Session, r.Key, r.Final(), nanos(r.UpdatedAt))
	if err != nil {
		return prompt.Receipt{}, false, err
	}
	if _, err := t.row(ctx, "SELECT last_insert_rowid()", nil, []any{&r.Seq}); err != nil {
		return prompt.Receipt{}, false, err
	}
	if err := d.writeReceipt(ctx, t, &r); err != nil {
		return prompt.Receipt{}, false, err
	}
	if !r.NeedsContent() {
		r.Content = nil
	}
	return r, false, nil
}

// SaveReceipt replaces a stored receipt, except its number, session and key. It implements
// prompt.Store.
func (d *DB) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	return d.saveReceipt(ctx, r, false)
}

// MoveReceipt replaces a stored receipt, including its session. It implements prompt.Store.
func (d *DB) MoveReceipt(ctx context.Context, r prompt.Receipt) error {
	return d.saveReceipt(ctx, r, true)
}

// saveReceipt replaces the stored receipt with the ID of r. If moved is true, its session is
// replaced too; otherwise the stored session stays.
func (d *DB) saveReceipt(ctx context.Context, r prompt.Receipt, moved bool) error {
	return d.write(ctx, "save a receipt", survivesPower, func(ctx context.Context, t *tx) error {
		var final bool
		var session string
		found, err := t.row(ctx, "SELECT seq, session, key, final FROM receipt WHERE id = ?", []any{r.ID},
			[]any{&r.Seq, &session, &r.Key, &final})
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("receipt %s: %w", r.ID, prompt.ErrUnknown)
		case final && !r.Final():
			return fmt.Errorf("receipt %s: %w, it cannot become %s", r.ID, prompt.ErrEnded, r.State)
		}
		if !moved {
			r.Session = session
		} else if err := t.exec(ctx, "UPDATE receipt SET session = ? WHERE seq = ?", r.Session, r.Seq); err != nil {
			return err
		}
		return d.writeReceipt(ctx, t, &r)
	})
}

// writeReceipt writes the row of a receipt, and its content if it is not nil.
func (d *DB) writeReceipt(ctx context.Context, t *tx, r *prompt.Receipt) error {
	body, err := d.opts.Secrets.Encode(r, "key", "digest", "conversation", "metadata")
	if err != nil {
		return fmt.Errorf("receipt %s: %w", r.ID, err)
	}
	final := r.Final()
	if err := t.exec(ctx, "UPDATE receipt SET final = ?, updated = ?, body = ? WHERE seq = ?",
		final, nanos(r.UpdatedAt), string(body), r.Seq); err != nil {
		return err
	}
	if r.Content == nil && r.NeedsContent() {
		return nil
	}
	if err := t.exec(ctx, "DELETE FROM content WHERE seq = ?", r.Seq); err != nil || !r.NeedsContent() {
		return err
	}
	for n, block := range r.Content {
		err := t.exec(ctx, "INSERT INTO content VALUES (?, ?, ?, ?, ?)", r.Seq, n, block.Type, blob(block.Text), blob(block.Path))
		if err != nil {
			return err
		}
	}
	return nil
}

// blob returns the bytes of a text; they are never nil.
func blob(text string) []byte { return append([]byte{}, text...) }

// OpenReceipts returns all receipts that are not final, with their contents. It implements
// prompt.Store.
func (d *DB) OpenReceipts(ctx context.Context) ([]prompt.Receipt, error) {
	return d.receipts(ctx, true, "SELECT id, body FROM receipt WHERE final = 0 ORDER BY seq")
}

// Receipt returns one receipt by its ID. It implements prompt.Store.
func (d *DB) Receipt(ctx context.Context, id string) (prompt.Receipt, error) {
	found, err := d.receipts(ctx, true, "SELECT id, body FROM receipt WHERE id = ?", id)
	if err != nil {
		return prompt.Receipt{}, err
	}
	if len(found) == 0 {
		return prompt.Receipt{}, fmt.Errorf("receipt %s: %w", id, prompt.ErrUnknown)
	}
	return found[0], nil
}

// EndedReceipts returns final receipts of a session, or of all sessions, newest first. It
// implements prompt.Store.
func (d *DB) EndedReceipts(ctx context.Context, session string, limit int) ([]prompt.Receipt, error) {
	return d.receipts(ctx, false, "SELECT id, body FROM receipt WHERE final = 1 AND (?1 = '' OR session = ?1) "+
		"ORDER BY updated DESC, seq DESC LIMIT ?2", session, rows(limit))
}

// DeleteReceipts deletes final receipts that were last updated before a time, and returns their
// number. It implements prompt.Store.
func (d *DB) DeleteReceipts(ctx context.Context, before time.Time) (int, error) {
	var gone int64 // the writer sets it
	err := d.write(ctx, "delete old receipts", survivesKill, func(ctx context.Context, t *tx) (err error) {
		err = t.exec(ctx, "DELETE FROM content WHERE seq IN (SELECT seq FROM receipt WHERE final = 1 AND updated < ?)", nanos(before))
		if err != nil {
			return err
		}
		gone, err = t.change(ctx, "DELETE FROM receipt WHERE final = 1 AND updated < ?", nanos(before))
		if err != nil || gone == 0 {
			return err
		}
		return t.vacuumUnused(ctx)
	})
	if err != nil {
		return 0, err
	}
	return int(gone), nil
}

// receipts returns the receipts of a query that selects id and body, with their content if content is true. The
// error names receipts that cannot be decoded.
func (d *DB) receipts(ctx context.Context, content bool, query string, args ...any) (found []prompt.Receipt, err error) {
	var bad error
	err = d.read(ctx, "read receipts", func(ctx context.Context, t *sql.Tx) (err error) {
		found, bad, err = decodeAll[prompt.Receipt](ctx, t, "receipt", query, args...)
		for i := 0; err == nil && content && i < len(found); i++ {
			found[i].Content, err = readContent(ctx, t, found[i].Seq)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, bad
}

// readContent returns the content of a receipt.
func readContent(ctx context.Context, t *sql.Tx, seq uint64) (blocks []runtime.ContentBlock, err error) {
	err = each(ctx, t, func(r *sql.Rows) error {
		var kind string
		var text, path []byte
		if err := r.Scan(&kind, &text, &path); err != nil {
			return err
		}
		blocks = append(blocks, runtime.ContentBlock{Type: kind, Text: string(text), Path: string(path)})
		return nil
	}, "SELECT type, text, path FROM content WHERE seq = ? ORDER BY n", seq)
	return blocks, err
}
