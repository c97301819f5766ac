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
	// maxBatch is how many changes go into one transaction at most.
	maxBatch = 256
	// grace is how long a caller whose context has ended waits for a change that
	// is already being made, to learn its result.
	grace = 2 * time.Second
)

// durability is how durable a change is when it has been made.
type durability int

const (
	survivesKill  durability = iota // of the process; a power cut may take it back
	survivesPower                   // on the disk
)

// job is a change on its way to the writer.
type job struct {
	op    string
	grade durability
	do    func(ctx context.Context, t *tx) error
	done  chan error // receives once; has room for it

	state atomic.Int32 // a job's state
	err   error        // of the last attempt; the writer's
}

// The states of a job.
const (
	jobWaits   = iota
	jobTaken   // by the writer
	jobDropped // by the caller, before the writer took it
)

func (j *job) claim() bool {
	return j.state.CompareAndSwap(jobWaits, jobTaken) || j.state.Load() == jobTaken
}

func (j *job) drop() bool { return j.state.CompareAndSwap(jobWaits, jobDropped) }

// write has the writer make a change and returns when it is as durable as asked,
// or has not been made at all. If the result is unknown, the error says so.
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

// outcome returns the job's result if there is one, else err.
func outcome(j *job, err error) error {
	select {
	case err := <-j.done:
		return err
	default:
		return err
	}
}

// slow records that the store takes too long.
func (d *DB) slow(op string) error {
	err := unavailable(op, d.path, errSlow)
	d.health.report(writing, err)
	return err
}

// wakeWriter makes the writer look at the faults.
func (d *DB) wakeWriter() {
	select {
	case d.wake <- struct{}{}:
	default: // it will
	}
}

// run is the writer. It ends when the store is closed and everything that was
// handed to it is done.
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

// gather returns what waits behind the first job, which goes with it.
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

// commit makes the changes of a batch in one transaction. If that fails each
// gets one of its own, so that none fails because of another.
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

// attempt makes all changes or, if it returns an error, none. A change that is
// refused for reasons of its own is left out and has its error in its job.
// Success does not end a fault: see [DB.probe].
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
	again := begun && len(batch) > 1 // each by itself
	if _, trouble := faultOf(err); trouble && !again {
		d.failed(t.size, err)
	}
	return begun, err
}

// finish does what is left to do before the end.
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
	_ = d.flushUpto(ctx, t, math.MaxUint64) // it is a fault now, and markClean reports it
	d.closeErr = errors.Join(d.markClean(ctx, t), d.reads.Close(), t.close())
}

// tx is the writer's connection: one transaction at a time, statements that are
// prepared once.
type tx struct {
	conn     *link
	prepared map[string]*sql.Stmt
	grade    durability
	size     int // of the texts that were handed to the engine in this transaction
}

// begin starts a transaction of the given grade.
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

// rollback undoes an unfinished transaction. The engine may have done so itself
// already, which is the only way in which this fails.
func (t *tx) rollback(ctx context.Context) {
	_ = t.exec(ctx, "ROLLBACK") // see above
}

// apply makes one change. One that is refused for reasons of its own is undone
// alone if others are in the transaction; the error is in the job.
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

func (t *tx) exec(ctx context.Context, query string, args ...any) error {
	_, err := t.change(ctx, query, args...)
	return err
}

// change is exec that returns how many rows it was about.
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

// row reads one row; found is false if there is none.
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

func (t *tx) close() error {
	var errs []error
	for _, statement := range t.prepared {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}
