package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gascity/client"
)

const (
	// flushBatch is the maximum number of events that one transaction writes, and deleteBatch is the
	// maximum number that one transaction removes.
	flushBatch, deleteBatch = 500, 500
	// vacuumFrom is the number of unused pages from which the file is shrunk.
	vacuumFrom = 2048
)

// firstOrigin returns the id before the first event of a new database: the current time in
// milliseconds. So no id of an earlier, lost database is used again.
func (d *DB) firstOrigin() uint64 {
	return uint64(max(1, d.opts.Now().UnixMilli())) //nolint:gosec // positive
}

// loadTimeline prepares the event log when the store is opened: it loads the stored state, records a gap if the last shutdown was
// not clean, and reserves the ids for this run. It must be called before the writer starts.
func (d *DB) loadTimeline(ctx context.Context, t *tx) error {
	l := &d.events
	l.keep, l.unwritten = d.opts.tail, d.opts.unwritten
	l.kick, l.appended = make(chan struct{}, 1), make(chan struct{})
	timeID := d.firstOrigin()
	if err := t.begin(ctx, survivesPower); err != nil {
		return err
	}
	err := d.enterTimeline(ctx, t, timeID)
	if err == nil {
		err = t.exec(ctx, "COMMIT")
	}
	if err != nil {
		t.rollback(ctx)
	}
	return err
}

// enterTimeline does the work of [DB.loadTimeline] within a transaction. timeID is the current time
// as an id, from [DB.firstOrigin].
func (d *DB) enterTimeline(ctx context.Context, t *tx, timeID uint64) error {
	l := &d.events
	var clean bool
	found, err := t.row(ctx, "SELECT origin, reserved, forgotten, count, bytes, clean FROM timeline",
		nil, []any{&l.origin, &l.persisted.reserved, &l.persisted.forgotten, &l.persisted.count, &l.persisted.bytes, &clean})
	if err == nil && !found {
		err = fmt.Errorf("%w: the table timeline has no row", ErrDamaged)
	}
	if err != nil {
		return err
	}
	var oldest int64
	if _, err := t.row(ctx, "SELECT coalesce((SELECT id FROM event ORDER BY id DESC LIMIT 1), 0), "+
		"coalesce((SELECT at FROM event ORDER BY id LIMIT 1), 0)", nil, []any{&l.last, &oldest}); err != nil {
		return err
	}
	if l.persisted.count > 0 {
		l.persisted.oldest = time.Unix(0, oldest)
	}
	if l.holes, err = loadHoles(ctx, t); err != nil {
		return err
	}
	l.written = max(l.origin, l.last)
	if n := len(l.holes); n > 0 {
		l.written = max(l.written, l.holes[n-1].upto)
	}
	// After a shutdown that was not clean, ids up to this one may have been used for events that were not written.
	switch upto := max(l.persisted.reserved, timeID); {
	case clean:
	case l.written == l.origin: // nothing has ever been written
		l.origin, l.written = upto, upto
	default:
		l.skipLocked(upto)
	}
	l.next = l.written + 1
	l.persisted.reserved = l.written + idBlock
	if err := writeHoles(ctx, t, l.holes); err != nil {
		return err
	}
	return t.exec(ctx, "UPDATE timeline SET origin = ?, reserved = ?, clean = 0", l.origin, l.persisted.reserved)
}

// writeHoles stores the holes: ranges of ids whose events are not stored.
func writeHoles(ctx context.Context, t *tx, holes []hole) error {
	for _, h := range holes {
		if err := t.exec(ctx, "INSERT OR REPLACE INTO hole VALUES (?, ?)", h.after, h.upto); err != nil {
			return err
		}
	}
	return nil
}

// loadHoles loads the holes: ranges of ids whose events are not stored.
func loadHoles(ctx context.Context, t *tx) (holes []hole, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var h hole
		err := rows.Scan(&h.after, &h.upto)
		holes = append(holes, h)
		return err
	}, "SELECT after, upto FROM hole ORDER BY after")
	return holes, err
}

// flush writes one batch of events that are not written yet and removes one batch of old ones. If
// there is more, it wakes the writer, which first makes the other waiting changes and then calls flush again.
func (d *DB) flush(ctx context.Context, t *tx) {
	more, err := d.flushSome(ctx, t)
	if d.deleteSome(ctx, t) || more && err == nil {
		signal(d.events.kick)
	}
}

// flushSome writes one batch of the events that are only in memory to the database. more is true if there may be another batch.
func (d *DB) flushSome(ctx context.Context, t *tx) (more bool, err error) {
	l := &d.events
	l.mu.Lock()
	start := l.startLocked()
	from := max(start, l.written+1) - start
	some := slices.Clone(l.tail[from:min(uint64(len(l.tail)), from+flushBatch)])
	holes := slices.Clone(l.holes)
	l.mu.Unlock()
	if len(some) == 0 {
		return false, nil
	}
	after, added := l.persisted, []eventRow(nil)
	err = d.writeInternal(ctx, t, "write events", func(ctx context.Context, t *tx) (err error) {
		added, err = d.writeEvents(ctx, t, some, holes, &after)
		return err
	})
	if err != nil {
		return false, err
	}
	l.persisted = after
	if l.groups != nil {
		for _, e := range added {
			l.groups.add(e.group, e.id, e.size)
		}
	}
	l.mu.Lock()
	l.written = max(l.written, some[len(some)-1].ID)
	l.trimLocked()
	l.mu.Unlock()
	if lost := l.resetLost(); lost > 0 {
		d.opts.Logger.Warn("events came faster than the disk writes them: readers receive a gap", "lost", lost)
	}
	return true, nil
}

// flushUpto writes the events up to the given id to the database. It returns an error if that fails.
func (d *DB) flushUpto(ctx context.Context, t *tx, id uint64) error {
	for {
		d.events.mu.Lock()
		done := d.events.written >= id
		d.events.mu.Unlock()
		if done {
			return nil
		}
		if more, err := d.flushSome(ctx, t); err != nil || !more {
			return err
		}
	}
}

// writeInternal makes a change of the database and waits for its result. Only the writer goroutine may call it; others use
// [DB.write].
func (d *DB) writeInternal(ctx context.Context, t *tx, op string, do func(context.Context, *tx) error) error {
	j := &job{op: op, grade: survivesKill, do: do, done: make(chan error, 1)}
	d.commit(ctx, t, []*job{j})
	return <-j.done
}

// writeEvents inserts the events and holes into the database and updates k, what the database contains. It returns the inserted
// rows.
func (d *DB) writeEvents(ctx context.Context, t *tx, events []client.Event, holes []hole, k *persisted) (added []eventRow, err error) {
	for _, e := range events {
		body, err := d.opts.Secrets.Encode(e)
		if err != nil {
			return nil, fmt.Errorf("cannot write event %d: %w", e.ID, err)
		}
		r := eventRow{e.ID, nanos(e.Time), int64(len(body)), groupOf(&e)}
		if err := t.exec(ctx, "INSERT INTO event (id, at, size, body, owner, kind) VALUES (?, ?, ?, ?, ?, ?)",
			r.id, r.at, r.size, string(body), r.group.owner, r.group.kind); err != nil {
			return nil, err
		}
		added = append(added, r)
		k.count++
		k.bytes += r.size
		if k.oldest.IsZero() {
			k.oldest = e.Time
		}
	}
	if newest := events[len(events)-1].ID; newest+idBlock/2 > k.reserved {
		k.reserved = newest + idBlock
	}
	if err := writeHoles(ctx, t, holes); err != nil {
		return nil, err
	}
	return added, t.exec(ctx, "UPDATE timeline SET reserved = ?, count = ?, bytes = ?", k.reserved, k.count, k.bytes)
}

// deleteSome removes one batch of events that are too old or exceed a limit. more is true if it
// removed events: then there may be more to remove.
func (d *DB) deleteSome(ctx context.Context, t *tx) (more bool) {
	l, limit := &d.events, d.opts.Retain
	before := d.opts.Now().Add(-limit.Age)
	if !limit.isExceeded(l.persisted, before) || l.persisted.count <= 1 {
		return false
	}
	r := removal{kept: l.persisted, groups: maps.Clone(l.groups), left: deleteBatch}
	err := d.writeInternal(ctx, t, "delete old events", func(ctx context.Context, t *tx) error {
		return r.run(ctx, t, limit, before)
	})
	if err != nil || r.left == deleteBatch { // nothing was removed; the writer has recorded a fault of the store
		return false
	}
	l.persisted, l.groups = r.kept, r.groups
	l.mu.Lock()
	l.holes = slices.DeleteFunc(l.holes, func(h hole) bool { return h.upto <= r.kept.forgotten })
	l.mu.Unlock()
	return true
}

// The maximum by which a limit of [Retention] is exceeded before events are removed down to the
// limit. If each new event removed an old one, the removal would cost more than the write.
const (
	maxBytesSlack = 1 << 20
	maxAgeSlack   = time.Minute
)

// isExceeded reports whether a limit is exceeded by so much that events must be removed. Events from
// before the time oldest are too old.
func (r Retention) isExceeded(k persisted, oldest time.Time) bool {
	return k.count >= r.Events+max(1, min(deleteBatch, r.Events/8)) ||
		k.bytes > r.Bytes+min(maxBytesSlack, r.Bytes/8) ||
		k.oldest.Before(oldest.Add(-min(maxAgeSlack, r.Age/8)))
}

// removal removes one batch of events and computes what remains.
type removal struct {
	kept   persisted
	groups groups // nil: not counted yet
	left   int    // number of rows that may still be removed
}

// run removes the events in a transaction.
func (r *removal) run(ctx context.Context, t *tx, limit Retention, before time.Time) (err error) {
	if r.groups == nil {
		if r.groups, err = loadGroups(ctx, t); err != nil {
			return err
		}
	}
	isRecent := func(e eventRow) bool { return r.kept.count <= 1 || !time.Unix(0, e.at).Before(before) } // at least one event stays
	if err := r.removeUntil(ctx, t, isRecent, math.MaxInt64, "true"); err != nil {
		return err
	}
	if err := r.removeSurplus(ctx, t, limit); err != nil {
		return err
	}
	var oldest int64
	if found, err := t.row(ctx, "SELECT at FROM event ORDER BY id LIMIT 1", nil, []any{&oldest}); err != nil || !found {
		return err
	}
	r.kept.oldest = time.Unix(0, oldest)
	if err := t.exec(ctx, "DELETE FROM hole WHERE upto <= ?", r.kept.forgotten); err != nil {
		return err
	}
	if err := t.exec(ctx, "UPDATE timeline SET forgotten = ?, count = ?, bytes = ?", r.kept.forgotten, r.kept.count, r.kept.bytes); err != nil {
		return err
	}
	return t.vacuumUnused(ctx)
}

// eventRow contains the fields of an event that retention needs.
type eventRow struct {
	id       uint64
	at, size int64
	group    group
}

// removeSurplus removes events until the number and size of the events are within the limits. It takes them from owners and kinds
// that exceed their share.
func (r *removal) removeSurplus(ctx context.Context, t *tx, limit Retention) error {
	if !r.isOver(limit) {
		return nil
	}
	var newest uint64
	for _, a := range r.groups {
		newest = max(newest, a.newest)
	}
	for k, keep := range r.groups.allocate(limit) {
		fits := func() bool { a := r.groups[k]; return a.count <= keep.count && a.bytes <= keep.bytes }
		if fits() {
			continue
		}
		err := r.removeUntil(ctx, t, func(eventRow) bool { return !r.isOver(limit) || fits() }, newest, "owner = ? AND kind = ?", k.owner, k.kind)
		if err != nil {
			return err
		}
	}
	return nil
}

// removeUntil removes events that match the SQL condition and have a lower id than limitID, the oldest first, until the function
// enough returns true for the next one.
func (r *removal) removeUntil(ctx context.Context, t *tx, enough func(eventRow) bool, limitID uint64, condition string, args ...any) error {
	var upto uint64
	err := t.each(ctx, func(rows *sql.Rows) error {
		var e eventRow
		if err := rows.Scan(&e.id, &e.at, &e.size, &e.group.owner, &e.group.kind); err != nil {
			return err
		}
		if enough(e) {
			return errEnough
		}
		upto = e.id
		r.removed(e)
		return nil
	}, "SELECT id, at, size, owner, kind FROM event WHERE "+condition+" AND id < ? ORDER BY id LIMIT ?", slices.Concat(args, []any{limitID, r.left})...)
	if err != nil || upto == 0 {
		return err
	}
	return t.exec(ctx, "DELETE FROM event WHERE "+condition+" AND id <= ?", append(args, upto)...)
}

// isOver reports whether a limit is exceeded and rows may still be removed.
func (r *removal) isOver(limit Retention) bool {
	return r.left > 0 && r.kept.count > 1 && (r.kept.count > limit.Events || r.kept.bytes > limit.Bytes)
}

// removed updates the counts in r for an event that is removed.
func (r *removal) removed(e eventRow) {
	r.left--
	r.kept.forgotten = max(r.kept.forgotten, e.id)
	r.kept.count--
	r.kept.bytes -= e.size
	r.groups.remove(e.group, e.size)
}

// vacuumUnused shrinks the file by vacuumFrom/2 pages if it has at least vacuumFrom unused pages.
func (t *tx) vacuumUnused(ctx context.Context) error {
	var spare int
	if _, err := t.row(ctx, "PRAGMA freelist_count", nil, []any{&spare}); err != nil || spare < vacuumFrom {
		return err
	}
	_, err := t.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumFrom/2))
	return err
}

// markClean records in the database that the shutdown was clean and all events were written, so that readers resume without a
// gap.
func (d *DB) markClean(ctx context.Context, t *tx) error {
	d.events.mu.Lock()
	last := d.events.next - 1
	complete := d.events.written == last
	d.events.mu.Unlock()
	if err := d.health.fault(); !complete || errors.Is(err, ErrDamaged) {
		return err
	}
	return d.writeInternal(ctx, t, "close the store", func(ctx context.Context, t *tx) error {
		return t.exec(ctx, "UPDATE timeline SET clean = 1, reserved = ?", last)
	})
}

// olderEvents returns the events after the id, the older ones from the database and the newer ones from memory (p). If this log
// never assigned the id, it returns all events. gap is true if some events are missing.
func (d *DB) olderEvents(ctx context.Context, t *sql.Tx, p *snapshot, id uint64) (events []client.Event, gap bool, err error) {
	var forgotten uint64
	if err := t.QueryRowContext(ctx, "SELECT forgotten FROM timeline").Scan(&forgotten); err != nil {
		return nil, false, err
	}
	gap = p.gap(id, forgotten)
	if id >= p.last {
		id = 0
	}
	events, bad, err := eventsBetween(ctx, t, id, p.start, -1)
	gap = gap || bad
	if id+1 < p.start {
		return append(events, p.tail...), gap, err
	}
	return append(events, p.tail[id+1-p.start:]...), gap, err
}

// eventsBetween returns the events with after < id < before, at most limit of them; a negative
// limit means all. bad is true if an event cannot be read.
func eventsBetween(ctx context.Context, t *sql.Tx, after, before uint64, limit int) (events []client.Event, bad bool, err error) {
	err = each(ctx, t, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		var e client.Event
		if err := json.Unmarshal(body, &e); err != nil {
			bad = true
			return nil //nolint:nilerr // one bad event is a gap
		}
		events = append(events, e)
		return nil
	}, "SELECT body FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT ?", after, before, limit)
	return events, bad, err
}
