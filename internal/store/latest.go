package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"gascity/client"
)

// LatestEvents returns the last events in the database at path, at most limit of them, oldest
// first. It changes nothing and needs no controller. Events that a running controller has not
// written yet are missing. The error matches [os.ErrNotExist] if the file does not exist.
func LatestEvents(ctx context.Context, path string, limit int) (events []client.Event, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	d := &DB{path: path, opts: Options{LockWait: time.Second}}
	conn, err := connect(ctx, d.source("query_only(1)")+"&mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	t, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Rollback() }() // nothing was written
	var ids []uint64
	err = each(ctx, t, func(rows *sql.Rows) error {
		var id uint64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM event ORDER BY id DESC LIMIT ?", limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	events, _, err = eventsBetween(ctx, t, slices.Min(ids)-1, math.MaxInt64, limit)
	return events, err
}
