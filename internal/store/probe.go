package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

const (
	// A store with a fault tries by itself whether it has ended: soon at first,
	// then less often. Only a recovery that has held for longer than stableAfter makes
	// it begin again.
	firstRetry, lastRetry = 250 * time.Millisecond, 5 * time.Second
	stableAfter           = 30 * time.Second
	// probeLeast and probeMost bound how many bytes are written to learn whether a
	// write fault has ended.
	probeLeast, probeMost = 64 << 10, 4 << 20
	// probeSeq is no receipt's: those begin with 1.
	probeSeq = 0
)

// retrier says when the store tries again.
type retrier struct {
	faulty     bool             // there was a fault when it was last looked
	retryTimer <-chan time.Time // set while there is a fault
	pause      time.Duration    // the last one
	ended      time.Time        // of the last fault
}

// update takes note of what is wrong now; over is true if a fault has just ended.
func (r *retrier) update(fault error) (over bool) {
	switch {
	case fault == nil && !r.faulty, fault != nil && r.retryTimer != nil:
		return false
	case fault == nil:
		r.faulty, r.retryTimer, r.ended = false, nil, time.Now()
		return true
	case !r.faulty && time.Since(r.ended) > stableAfter:
		r.pause = firstRetry
	default:
		r.pause = min(2*r.pause, lastRetry)
	}
	r.faulty, r.retryTimer = true, time.After(r.pause)
	return false
}

// failed records that a transaction of that many bytes could not be made.
func (d *DB) failed(size int, err error) {
	d.refusedBytes = max(d.refusedBytes, size)
	d.health.report(writing, unavailable("write", d.path, err))
}

// probe learns whether a fault has ended.
func (d *DB) probe(ctx context.Context, t *tx) {
	if d.health.faultOf(reading) != nil {
		// The outcome is reported by the read itself.
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

// writes reports whether the database takes as much as it refused, and whatever
// it owes. What is small proves nothing: a full disk has room for it in what the
// journal has already got. The probe is a row of no consequence, on the disk and
// out of the journal; a kill leaves it to the next probe.
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

// checkpoint brings what is in the journal to the disk and into the database, as
// far as readers let it.
func (d *DB) checkpoint(ctx context.Context, t *tx) error {
	var busy, pages, done int
	err := t.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
	if err != nil {
		d.failed(0, err)
	}
	return unavailable("write", d.path, err)
}
