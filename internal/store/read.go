package store

import (
	"context"
	"database/sql"
	"errors"
)

// read calls ask within a read transaction, so that ask sees one consistent state of the database.
// op names the operation in errors.
func (d *DB) read(ctx context.Context, op string, ask func(context.Context, *sql.Tx) error) error {
	if d.isClosing() {
		return ErrClosed
	}
	bound, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, errSlow)
	defer cancel()
	err := d.checkFiles()
	if err == nil {
		err = d.query(bound, ask)
	}
	switch {
	case err == nil:
	case d.isClosing():
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bound.Err() != nil:
		err = errSlow
	}
	_, trouble := faultOf(err)
	err = unavailable(op, d.path, err)
	if trouble || err == nil {
		d.health.report(reading, err)
	}
	return err
}

// query does the work of [DB.read], without the time limit and the checks.
func (d *DB) query(ctx context.Context, question func(context.Context, *sql.Tx) error) error {
	t, err := d.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	err = question(ctx, t)
	if end := t.Rollback(); err == nil && !errors.Is(end, sql.ErrTxDone) { // ErrTxDone: ctx is done
		err = end
	}
	return err
}

// each calls scan for every row of a query.
func each(ctx context.Context, t *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := t.QueryContext(ctx, query, args...)
	return scanAll(rows, err, scan)
}

// errEnough is returned by a scan function that needs no further row.
var errEnough = errors.New("no further row is needed")

// scanAll calls scan for every row of a query. err is the error of the query; if it is not nil, scanAll only returns it.
func scanAll(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		err = scan(rows)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, rows.Err(), rows.Close())
}
