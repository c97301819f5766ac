package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gascity/internal/retry"
)

const (
	// During a fault the store checks regularly whether it has ended. The delay doubles from
	// firstRetry to lastRetry. It is reset only after the store has worked for longer than
	// stableAfter.
	firstRetry, lastRetry = 250 * time.Millisecond, 5 * time.Second
	stableAfter           = 30 * time.Second
	// probeLeast and probeMost limit how many bytes are written to check whether a write fault has
	// ended.
	probeLeast, probeMost = 64 << 10, 4 << 20
	// probeSeq is not the seq of any receipt; those begin with 1.
	probeSeq = 0
)

// retrier computes when the store checks a fault again.
type retrier struct {
	faulty     bool             // there was a fault at the last update
	retryTimer <-chan time.Time // not nil while there is a fault
	delay      *retry.Backoff   // nil before the first fault
	ended      time.Time        // end of the last fault
}

// update records the current fault; nil if there is none. It returns true if a fault has just
// ended.
func (r *retrier) update(fault error) (over bool) {
	switch {
	case fault == nil && !r.faulty, fault != nil && r.retryTimer != nil:
		return false
	case fault == nil:
		r.faulty, r.retryTimer, r.ended = false, nil, time.Now()
		return true
	case !r.faulty && time.Since(r.ended) > stableAfter:
		r.delay = retry.New(firstRetry, lastRetry)
	}
	r.faulty, r.retryTimer = true, time.After(r.delay.Next())
	return false
}

// failed records as a write fault that a transaction with this many bytes failed.
func (d *DB) failed(size int, err error) {
	d.refusedBytes = max(d.refusedBytes, size)
	d.health.report(writing, unavailable("write", d.path, err))
}

// probe tries whether reading or writing works again after a fault.
func (d *DB) probe(ctx context.Context, t *tx) {
	if d.health.faultOf(reading) != nil {
		// read reports the result itself.
		_ = d.read(ctx, "read", func(ctx context.Context, t *sql.Tx) error {
			var one int
			return t.QueryRowContext(ctx, "SELECT one FROM timeline").Scan(&one)
		})
	}
	if d.health.faultOf(writing) != nil && d.writes(ctx, t) {
		d.refusedBytes = 0
		d.health.report(writing, nil)
	}
}

// writes reports whether the database can be written again. It writes as many bytes as the largest
// transaction that failed, because a small write may still succeed on a full disk, and then all
// events that are only in memory. The bytes are a temporary row; if the process is killed, the next
// test replaces it.
func (d *DB) writes(ctx context.Context, t *tx) bool {
	size := min(max(probeLeast, d.refusedBytes), probeMost)
	d.events.mu.Lock()
	owed := d.events.next - 1
	d.events.mu.Unlock()
	steps := []func() error{
		func() error {
			return d.writeInternal(ctx, t, "write", func(ctx context.Context, t *tx) error {
				return t.exec(ctx, "INSERT OR REPLACE INTO content VALUES (?, 0, 'probe', randomblob(?), x'')", probeSeq, size)
			})
		},
		func() error { return d.checkpoint(ctx, t) },
		func() error {
			return d.writeInternal(ctx, t, "write", func(ctx context.Context, t *tx) error {
				return t.exec(ctx, "DELETE FROM content WHERE seq = ?", probeSeq)
			})
		},
		func() error { return d.flushUpto(ctx, t, owed) },
	}
	for _, step := range steps {
		if err := step(); errors.Is(err, ErrUnavailable) {
			return false
		}
	}
	return true
}

// checkpoint copies the journal into the database, as far as readers allow it.
func (d *DB) checkpoint(ctx context.Context, t *tx) error {
	var busy, pages, done int
	err := t.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
	if err != nil {
		d.failed(0, err)
	}
	return unavailable("write", d.path, err)
}
