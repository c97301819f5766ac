package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

const (
	// maxBatch is the maximum number of changes in one transaction.
	maxBatch = 256
	// grace is how long a caller whose context is done still waits for the result of a change that
	// is in progress.
	grace = 2 * time.Second
)

// durability states which failures a change survives.
type durability int

const (
	survivesKill  durability = iota // a kill of the process; a power cut may undo it
	survivesPower                   // a power cut: it is on the disk
)

// job is a change that was sent to the writer.
type job struct {
	op    string
	grade durability
	do    func(ctx context.Context, t *tx) error
	done  chan error // receives the result once; capacity 1

	state atomic.Int32 // jobWaits, jobTaken or jobDropped
	err   error        // of the last attempt; used by the writer only
}

// The states of a job.
const (
	jobWaits   = iota
	jobTaken   // the writer has begun it
	jobDropped // the caller has given up before the writer began it
)

// claim reports whether the writer may carry out the job. It returns false if the caller has given
// up.
func (j *job) claim() bool {
	return j.state.CompareAndSwap(jobWaits, jobTaken) || j.state.Load() == jobTaken
}

// drop cancels the job and returns true, unless the writer has already begun it.
func (j *job) drop() bool { return j.state.CompareAndSwap(jobWaits, jobDropped) }

// write lets the writer goroutine make a change with do, and returns when the change is saved as
// safely as g requires. An error means that the change was not made, or that it is not known whether
// it was made. op names the change in messages.
func (d *DB) write(ctx context.Context, op string, g durability, do func(context.Context, *tx) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	j := &job{op: op, grade: g, do: do, done: make(chan error, 1)}
	patience := time.NewTimer(d.opts.Timeout)
	defer patience.Stop()
	select {
	case d.jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
		return d.slow(op)
	case <-d.closing:
		return ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-d.writerDone:
		return outcome(j, ErrClosed)
	case <-patience.C:
		if j.drop() {
			return d.slow(op)
		}
		return outcome(j, d.slow(op))
	case <-ctx.Done():
		if j.drop() {
			return context.Cause(ctx)
		}
	}
	last := time.NewTimer(grace)
	defer last.Stop()
	select {
	case err := <-j.done:
		return err
	case <-last.C:
		return d.slow(op)
	}
}

// outcome returns the job's result if it is already known, otherwise err.
func outcome(j *job, err error) error {
	select {
	case err := <-j.done:
		return err
	default:
		return err
	}
}

// slow records as a write fault that the store takes too long, and returns it as an error.
func (d *DB) slow(op string) error {
	err := unavailable(op, d.path, errSlow)
	d.health.report(writing, err)
	return err
}

// signal sends to a channel of capacity 1. It does not wait: if the channel is full, a signal is already waiting for its reader.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run is the writer goroutine. It returns when the store is closed and all jobs are done.
func (d *DB) run(ctx context.Context, t *tx) {
	defer close(d.writerDone)
	var r retrier
	for {
		select {
		case j := <-d.jobs:
			d.commit(ctx, t, d.gather(j))
		case <-d.events.kick:
			if !r.faulty {
				d.flush(ctx, t)
			}
		case <-d.wake:
		case <-r.retryTimer:
			r.retryTimer = nil
			d.probe(ctx, t)
		case <-d.closing:
			d.finish(ctx, t)
			return
		}
		if over := r.update(d.health.fault()); over {
			d.flush(ctx, t)
		}
	}
}

// gather returns first and the jobs that wait after it, at most maxBatch, for one transaction.
func (d *DB) gather(first *job) []*job {
	batch := []*job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-d.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit makes the changes of a batch in one transaction and sends each job its result. If a
// transaction that has begun fails, it makes each change in its own transaction, so that no change
// fails because of another. A job whose caller has given up is skipped.
func (d *DB) commit(ctx context.Context, t *tx, batch []*job) {
	begun, err := d.attempt(ctx, t, batch)
	if err != nil && begun && len(batch) > 1 {
		for _, j := range batch {
			d.commit(ctx, t, []*job{j})
		}
		return
	}
	for _, j := range batch {
		if !j.claim() {
			continue
		}
		if err != nil {
			j.err = err
		}
		j.done <- unavailable(j.op, d.path, j.err)
	}
}

// attempt makes all changes of a batch in one transaction. If it returns an error, it has made
// none. If the function of one change fails, only that change is left out, and its job gets the
// error. begun is true if the transaction was begun.
func (d *DB) attempt(ctx context.Context, t *tx, batch []*job) (begun bool, err error) {
	g := survivesKill
	t.size = 0
	for _, j := range batch {
		g = max(g, j.grade)
	}
	if err = d.checkFiles(); err == nil {
		err = t.begin(ctx, g)
		begun = err == nil
	}
	for _, j := range batch {
		if err != nil {
			break
		}
		if j.claim() {
			err = t.apply(ctx, j, len(batch) > 1)
		}
	}
	if err == nil {
		err = d.checkFiles()
	}
	if err == nil {
		err = t.exec(ctx, "COMMIT")
	}
	if err != nil {
		t.rollback(ctx)
	}
	again := begun && len(batch) > 1 // commit tries each change again by itself
	if _, trouble := faultOf(err); trouble && !again {
		d.failed(t.size, err)
	}
	return begun, err
}

// finish carries out the jobs that still wait, writes the remaining events and closes the
// connections. It is the end of the writer.
func (d *DB) finish(ctx context.Context, t *tx) {
	d.events.mu.Lock()
	d.events.closed = true
	d.events.mu.Unlock()
	for {
		select {
		case j := <-d.jobs:
			d.commit(ctx, t, d.gather(j))
			continue
		default:
		}
		break
	}
	_ = d.flushUpto(ctx, t, math.MaxUint64) // an error is recorded as a fault, and markClean returns it
	d.closeErr = errors.Join(d.markClean(ctx, t), d.reads.Close(), t.close())
}

// tx is the writer's connection, with its prepared statements. It has at most one transaction.
type tx struct {
	conn     *link
	prepared map[string]*sql.Stmt
	grade    durability
	size     int // bytes of the arguments in this transaction
}

// begin starts a transaction with the given durability.
func (t *tx) begin(ctx context.Context, g durability) error {
	if g != t.grade {
		level := "PRAGMA synchronous = NORMAL"
		if g == survivesPower {
			level = "PRAGMA synchronous = FULL"
		}
		if _, err := t.conn.ExecContext(ctx, level); err != nil {
			return err
		}
		t.grade = g
	}
	return t.exec(ctx, "BEGIN IMMEDIATE")
}

// rollback undoes an unfinished transaction. It fails only if SQLite has already rolled back.
func (t *tx) rollback(ctx context.Context) {
	_ = t.exec(ctx, "ROLLBACK") // it fails only if SQLite has already rolled back
}

// apply carries out one change within the transaction. If the change fails and others is true, only
// this change is undone, and the error is stored in the job.
func (t *tx) apply(ctx context.Context, j *job, others bool) error {
	j.err = nil
	if !others {
		return j.do(ctx, t)
	}
	if err := t.exec(ctx, "SAVEPOINT change"); err != nil {
		return err
	}
	j.err = j.do(ctx, t)
	if _, trouble := faultOf(j.err); trouble {
		return j.err
	}
	if j.err != nil {
		if err := t.exec(ctx, "ROLLBACK TO change"); err != nil {
			return err
		}
	}
	return t.exec(ctx, "RELEASE change")
}

// statement returns a prepared statement for a query.
func (t *tx) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if kept, ok := t.prepared[query]; ok {
		return kept, nil
	}
	fresh, err := t.conn.PrepareContext(ctx, query)
	if err == nil {
		t.prepared[query] = fresh
	}
	return fresh, err
}

// exec runs a statement.
func (t *tx) exec(ctx context.Context, query string, args ...any) error {
	_, err := t.change(ctx, query, args...)
	return err
}

// change runs a statement and returns the number of changed rows.
func (t *tx) change(ctx context.Context, query string, args ...any) (int64, error) {
	statement, err := t.statement(ctx, query)
	if err != nil {
		return 0, err
	}
	for _, arg := range args {
		switch text := arg.(type) {
		case string:
			t.size += len(text)
		case []byte:
			t.size += len(text)
		}
	}
	result, err := statement.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls scan for every row of a query.
func (t *tx) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	statement, err := t.statement(ctx, query)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	return scanAll(rows, err, scan)
}

// row runs a query and stores the values of its first row in into. found is false if there is no
// row.
func (t *tx) row(ctx context.Context, query string, args, into []any) (found bool, err error) {
	statement, err := t.statement(ctx, query)
	if err != nil {
		return false, err
	}
	err = statement.QueryRowContext(ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// close closes the statements and the connection.
func (t *tx) close() error {
	var errs []error
	for _, statement := range t.prepared {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}
