package store

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

const (
	// defaultTail is the minimum number of events in memory, defaultUnwritten the maximum while
	// they cannot be written.
	defaultTail, defaultUnwritten = 1024, 16_384
	// idBlock is how many ids are reserved at a time.
	idBlock = 1 << 20
)

var _ event.Log = (*DB)(nil)

// hole is a range of ids, after < id <= upto, whose events are not stored.
type hole struct{ after, upto uint64 }

// timeline contains the recent events in memory and the state of the stored ones.
type timeline struct {
	kick      chan struct{} // capacity 1: signals events to write
	keep      int           // minimum length of tail; constant
	unwritten int           // maximum number of unwritten events; constant

	mu       sync.Mutex
	origin   uint64         // the id before the first event
	next     uint64         // the id of the next event
	last     uint64         // the id of the newest event; zero: there is none
	written  uint64         // all events up to this id are in the database or lost
	tail     []client.Event // the newest events, with consecutive ids up to next-1
	holes    []hole         // ascending
	lost     int            // number of lost events since the last report
	closed   bool
	appended chan struct{} // closed and replaced by each Append

	// Used by the writer only: the state of the database and the counts by group. The groups are
	// nil until retention first needs them.
	persisted persisted
	groups    groups
}

// persisted describes the part of the time line that is in the database.
type persisted struct {
	reserved  uint64
	forgotten uint64 // the newest id that retention has removed; older events may remain
	count     int
	bytes     int64
	oldest    time.Time // zero: unknown
}

// Append appends an event to the log, with secrets masked. It fails only after [DB.Close]. An event
// that cannot be written stays visible and is written when the store works again. If that takes too
// long, the oldest such events are lost, and their readers get a gap. It does not wait. It
// implements event.Log.
func (d *DB) Append(_ context.Context, e client.Event) (client.Event, error) {
	e.Text, e.Data = d.opts.Secrets.Text(e.Text), d.opts.Secrets.Data(e.Data)
	l := &d.events
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return client.Event{}, ErrClosed
	}
	e.ID = l.next
	if e.Time.IsZero() {
		e.Time = d.opts.Now()
	}
	l.next++
	l.last = e.ID
	l.tail = append(l.tail, e)
	l.trimLocked()
	close(l.appended)
	l.appended = make(chan struct{})
	signal(l.kick)
	return e, nil
}

// trimLocked removes the oldest events from memory when there are more than 9/8 of l.keep. Events
// that are not in the database yet stay, unless there are too many of them: then the oldest are
// lost. The caller holds mu.
func (l *timeline) trimLocked() {
	if len(l.tail) <= l.keep+l.keep/8 {
		return
	}
	unwritten := int(l.last - max(l.written, l.tail[0].ID-1)) //nolint:gosec // at most the tail's length
	keep := max(l.keep, unwritten)
	lose := unwritten > l.unwritten
	if lose {
		keep = max(1, l.unwritten/2)
		l.loseLocked(l.last - uint64(keep)) //nolint:gosec // positive
	}
	if lose || len(l.tail) > keep+keep/8 {
		l.tail = append(make([]client.Event, 0, keep+keep/8+1), l.tail[len(l.tail)-keep:]...)
	}
}

// loseLocked drops the events up to the id that are not in the database yet, and counts them as
// lost. The caller holds mu.
func (l *timeline) loseLocked(upto uint64) {
	if upto <= l.written {
		return
	}
	l.lost += int(upto - l.written) //nolint:gosec // at most the tail's length
	l.skipLocked(upto)
}

// skipLocked records as a hole that the events from the last stored one up to the id are not
// stored. The caller holds mu.
func (l *timeline) skipLocked(upto uint64) {
	if n := len(l.holes); n > 0 && l.holes[n-1].upto == l.written {
		l.holes[n-1].upto = upto
	} else {
		l.holes = append(l.holes, hole{l.written, upto})
	}
	l.written = upto
}

// resetLost returns the number of events that were lost since the last call.
func (l *timeline) resetLost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.lost
	l.lost = 0
	return lost
}

// startLocked returns the ID of the oldest event that is in memory; if there is none, that of the
// next event.
func (l *timeline) startLocked() uint64 { return l.next - uint64(len(l.tail)) }

// snapshot is a copy of the time line in memory.
type snapshot struct {
	origin, start, last uint64
	tail                []client.Event
	holes               []hole
}

// snapshotLocked returns a copy of the time line in memory.
func (l *timeline) snapshotLocked() snapshot {
	return snapshot{l.origin, l.startLocked(), l.last, slices.Clone(l.tail), slices.Clone(l.holes)}
}

// gap reports whether a reader that has read up to the id misses events, because they were removed
// or lost. forgotten is the newest id that was removed.
func (p *snapshot) gap(id, forgotten uint64) bool {
	if id == 0 {
		id = p.origin // a new reader misses only events that existed
	} else if id < p.origin || id > p.last {
		return true
	}
	return id < min(forgotten, p.start-1) || slices.ContainsFunc(p.holes, func(h hole) bool { return id < h.upto })
}

// After returns the events after the one with the given ID. gap is true if some of them are lost.
// It takes recent events from memory. It implements event.Log.
func (d *DB) After(ctx context.Context, id uint64) (events []client.Event, gap bool, err error) {
	l := &d.events
	l.mu.Lock()
	if start := l.startLocked(); id+1 >= start && id != 0 && id <= l.last {
		defer l.mu.Unlock()
		return slices.Clone(l.tail[id+1-start:]), false, nil
	}
	p := l.snapshotLocked()
	l.mu.Unlock()
	err = d.read(ctx, "read the events", func(ctx context.Context, t *sql.Tx) error {
		events, gap, err = d.olderEvents(ctx, t, &p, id)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return events, gap, nil
}

// Page returns the events after the one with the given ID, at most limit. If id is
// greater than the ID of the newest event, for example because it is of another log, it begins with
// the oldest event. It implements event.Log.
func (d *DB) Page(ctx context.Context, id uint64, limit int) (events []client.Event, err error) {
	limit = max(1, limit)
	l := &d.events
	l.mu.Lock()
	start, last := l.startLocked(), l.last
	if id > last {
		id = 0
	}
	var tail []client.Event // the events in memory after the id, at most limit
	if from := max(id+1, start); from-start < uint64(len(l.tail)) {
		tail = l.tail[from-start:]
		tail = slices.Clone(tail[:min(len(tail), limit)])
	}
	l.mu.Unlock()
	if id+1 >= start {
		return tail, nil
	}
	err = d.read(ctx, "read the events", func(ctx context.Context, t *sql.Tx) error {
		events, _, err = eventsBetween(ctx, t, id, start, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(events, tail[:min(len(tail), limit-len(events))]...), nil
}

// Since returns the ID of the newest event that is older than a time. It implements event.Log.
func (d *DB) Since(ctx context.Context, t time.Time) (id uint64, err error) {
	d.events.mu.Lock()
	p := d.events.snapshotLocked()
	d.events.mu.Unlock()
	for _, e := range slices.Backward(p.tail) {
		if e.Time.Before(t) {
			return e.ID, nil
		}
	}
	err = d.read(ctx, "read the events", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx,
			"SELECT coalesce((SELECT id FROM event WHERE at < ? AND id < ? ORDER BY id DESC LIMIT 1), 0)", nanos(t), p.start).Scan(&id)
	})
	return id, err
}

// Wait waits until there is an event after the one with the given ID. It returns [ErrClosed] if the
// store is closed. It implements event.Log.
func (d *DB) Wait(ctx context.Context, id uint64) error {
	for {
		d.events.mu.Lock()
		grown, last := d.events.appended, d.events.last
		d.events.mu.Unlock()
		if last > id {
			return nil
		}
		select {
		case <-grown:
		case <-d.closing:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
