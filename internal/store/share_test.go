package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/session"
)

// TestNobodyPushesTheEventsOfOthersOut writes random events of several sessions and kinds to a
// database, many more of one session than of the others. It checks that each session keeps its
// newest events up to an equal part of the space, and each kind up to an equal part of that; that
// all space is used; and that a reader that misses an event gets a gap.
func TestNobodyPushesTheEventsOfOthersOut(t *testing.T) {
	t.Parallel()
	base, blank := t.TempDir(), blankDatabase(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w := &timelineModel{
			rt: rt, ctx: t.Context(), dir: filepath.Join(base, fmt.Sprint(runs)), retain: rapid.IntRange(1, 60).Draw(rt, "retain"),
			blank: blank,
		}
		w.now.Store(1_800_000_000_000)
		w.begin()
		defer func() {
			if err := w.db.Close(); err != nil {
				t.Error(err)
			}
			_ = os.RemoveAll(w.dir) // the test's folder goes with it
		}()
		owners := rapid.IntRange(1, 5).Draw(rt, "owners")
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			noisy := rapid.IntRange(0, owners-1).Draw(rt, "noisy")
			for i := range rapid.IntRange(1, 120).Draw(rt, "events") {
				owner := noisy
				if i%7 == 0 {
					owner = rapid.IntRange(0, owners-1).Draw(rt, "owner")
				}
				w.appendOf(owner, rapid.IntRange(0, 2).Draw(rt, "kind"))
			}
			if rapid.Bool().Draw(rt, "restart") {
				w.waitWritten()
				w.restart()
			}
		}
		w.waitWritten()
		w.checkParts()
	})
}

// appendOf appends an event. Owner 0 is the city, owner 1 an agent without a session, the others
// are sessions.
func (w *timelineModel) appendOf(owner, kind int) {
	w.now.Add(1)
	e := client.Event{Kind: fmt.Sprintf("kind.%d", kind), Text: fmt.Sprint(len(w.all))}
	switch owner {
	case 0:
	case 1:
		e.Agent = "one"
	default:
		e.Agent, e.Session = fmt.Sprint(owner), fmt.Sprintf("s%d", owner)
	}
	e, err := w.db.Append(w.ctx, e)
	if err != nil {
		w.rt.Fatal(err)
	}
	w.all = append(w.all, e)
}

// stored returns the IDs of the events in the database. The newest events are not included, because
// they are in memory too.
func (w *timelineModel) stored() map[uint64]bool {
	ids := map[uint64]bool{}
	err := w.db.write(w.ctx, "read", survivesKill, func(ctx context.Context, t *tx) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var id uint64
			err := rows.Scan(&id)
			ids[id] = true
			return err
		}, "SELECT id FROM event")
	})
	if err != nil {
		w.rt.Fatal(err)
	}
	return ids
}

func (w *timelineModel) checkParts() {
	ids := w.stored()
	if least := min(w.retain, len(w.all)); len(ids) < least || !ids[w.all[len(w.all)-1].ID] {
		w.rt.Fatalf("%d events are kept of %d, want at least %d, with the newest", len(ids), len(w.all), least)
	}
	byOwner, byGroup, kinds := map[string][]uint64{}, map[group][]uint64{}, map[string]int{}
	for i := range w.all {
		k := groupOf(&w.all[i])
		if len(byGroup[k]) == 0 {
			kinds[k.owner]++
		}
		byOwner[k.owner] = append(byOwner[k.owner], w.all[i].ID)
		byGroup[k] = append(byGroup[k], w.all[i].ID)
	}
	part := w.retain / len(byOwner)
	for owner, given := range byOwner {
		n := 0
		for _, id := range given {
			if ids[id] {
				n++
			}
		}
		if want := min(part, len(given)); n < want {
			w.rt.Errorf("of %d events of %q %d are kept, want at least its part of %d", len(given), owner, n, want)
		}
	}
	for k, given := range byGroup {
		for _, id := range given[len(given)-min(len(given), part/kinds[k.owner]):] {
			if !ids[id] {
				w.rt.Errorf("event %d of %v is gone, it is one of the newest %d of its kind", id, k, part/kinds[k.owner])
			}
		}
	}
	last := -1 // of the events that are gone
	for i := range w.all {
		if !ids[w.all[i].ID] {
			last = i
		}
	}
	for from := range w.all { // a reader who misses something receives a gap
		// The answer can change where one of two neighbors is gone. Of the others, some are asked for.
		beside := from == 0 || ids[w.all[from].ID] != ids[w.all[from-1].ID] || from == last
		if from > last || !beside && (from+len(w.all))%8 > 0 {
			continue
		}
		missing := false
		for _, e := range w.all[from:] {
			missing = missing || !ids[e.ID]
		}
		id := w.db.events.origin
		if from > 0 {
			id = w.all[from-1].ID
		}
		events, gap, err := w.db.After(w.ctx, id)
		if err != nil {
			w.rt.Fatal(err)
		}
		if missing && !gap && len(events) != len(w.all)-from {
			w.rt.Fatalf("after number %d came %d of %d events, and no gap is reported", from, len(events), len(w.all)-from)
		}
	}
}

// TestRetentionKnowsTheOwnersOfOlderEvents migrates a database of the previous version and checks
// that its events count for their sessions.
func TestRetentionKnowsTheOwnersOfOlderEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "city.db")
	db, err := openSteps(t, path, migrations[:3])
	if err != nil {
		t.Fatal(err)
	}
	err = db.write(t.Context(), "write old events", survivesKill, func(ctx context.Context, x *tx) error {
		for i, e := range []client.Event{{Kind: "a.b", Session: "s", Agent: "x"}, {Kind: "a.c", Agent: "x"}, {Kind: "a.d"}} {
			body, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if err := x.exec(ctx, "INSERT INTO event VALUES (?, ?, ?, ?)", i+1, nanos(time.Now()), len(body), string(body)); err != nil {
				return err
			}
		}
		return x.exec(ctx, "INSERT INTO event VALUES (4, 1, 3, 'not')")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = openSteps(t, path, migrations); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var got groups
	if err := db.write(t.Context(), "count", survivesKill, func(ctx context.Context, x *tx) (err error) {
		got, err = loadGroups(ctx, x)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, k := range []group{{"s", "a.b"}, {"agent:x", "a.c"}, {"", "a.d"}, {"", ""}} {
		if a := got[k]; a.count != 1 || a.newest != uint64(i)+1 {
			t.Errorf("group %v holds %+v, want event %d alone", k, a, i+1)
		}
	}
}

// TestMigrationRemovesTheTableOfInstances migrates a database of version 4, whose table of
// instances has a row.
func TestMigrationRemovesTheTableOfInstances(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "city.db")
	db, err := openSteps(t, path, migrations[:4])
	if err != nil {
		t.Fatal(err)
	}
	err = db.write(t.Context(), "write an instance", survivesKill, func(ctx context.Context, x *tx) error {
		return x.exec(ctx, "INSERT INTO incarnation VALUES ('pty', 's', 1, '{}')")
	})
	if err := errors.Join(err, db.Save(t.Context(), session.Record{Session: "s", Provider: "pty"}), db.Close()); err != nil {
		t.Fatal(err)
	}
	if db, err = openSteps(t, path, migrations); err != nil {
		t.Fatal(err)
	}
	err = db.write(t.Context(), "read an instance", survivesKill, func(ctx context.Context, x *tx) error {
		return x.exec(ctx, "SELECT * FROM incarnation")
	})
	if err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("the table is read, %v", err)
	}
	if records, err := db.Load(t.Context()); err != nil || len(records) != 1 {
		t.Errorf("the records are %+v, %v; want the one that was saved", records, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
