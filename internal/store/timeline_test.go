package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
)

// timelineModel is a time line and what is true of it.
type timelineModel struct {
	rt     *rapid.T
	ctx    context.Context //nolint:containedctx // of the test
	dir    string
	db     *DB
	blank  []byte // a database without events
	retain int
	now    atomic.Int64 // milliseconds
	lives  int

	all     []client.Event // every event that anybody has seen
	missing map[uint64]bool
	crash   uint64 // the last id before the last end that was not clean
}

// blankDatabase returns the content of a database without events. Creating its tables takes longer
// than most runs of a property test.
func blankDatabase(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "city.db")
	db, err := Open(t.Context(), Options{Path: path})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// begin opens a copy of the blank database.
func (w *timelineModel) begin() {
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.path()), 0o700), os.WriteFile(w.path(), w.blank, 0o600)); err != nil {
		w.rt.Fatal(err)
	}
	w.open()
}

func (w *timelineModel) path() string { return filepath.Join(w.dir, fmt.Sprint(w.lives), "city.db") }

func (w *timelineModel) open() {
	db, err := Open(w.ctx, Options{
		Path: w.path(), Now: func() time.Time { return time.UnixMilli(w.now.Load()) },
		Retain: Retention{Events: w.retain, Age: 1000 * time.Hour}, tail: 4, unwritten: 1 << 20,
	})
	if err != nil || db.Damage() != nil {
		w.rt.Fatalf("cannot open: %v", err)
	}
	w.db = db
}

func (w *timelineModel) append(n int) {
	for range n {
		w.now.Add(1)
		e, err := w.db.Append(w.ctx, client.Event{Kind: "session.status", Text: fmt.Sprint(len(w.all))})
		if err != nil {
			w.rt.Fatal(err)
		}
		if len(w.all) > 0 && e.ID <= w.all[len(w.all)-1].ID {
			w.rt.Fatalf("id %d was given after id %d", e.ID, w.all[len(w.all)-1].ID)
		}
		w.all = append(w.all, e)
	}
}

// waitWritten waits until every event is written.
func (w *timelineModel) waitWritten() {
	deadline := time.Now().Add(20 * time.Second)
	for {
		w.db.events.mu.Lock()
		done := w.db.events.written+1 == w.db.events.next
		w.db.events.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(deadline) {
			w.rt.Fatal("the events are not written")
		}
		<-time.After(100 * time.Microsecond)
	}
	if err := w.db.write(w.ctx, "settle", survivesKill, func(ctx context.Context, t *tx) error { return t.exec(ctx, "SELECT 1") }); err != nil {
		w.rt.Fatal(err)
	}
}

// restart closes the store normally and opens it again.
func (w *timelineModel) restart() {
	if err := w.db.Close(); err != nil {
		w.rt.Fatal(err)
	}
	w.open()
}

// kill opens the store again as after a kill: the last events are not in the database.
func (w *timelineModel) kill(lost int) {
	w.waitWritten()
	old := w.path()
	w.lives++
	if err := os.MkdirAll(filepath.Dir(w.path()), 0o700); err != nil {
		w.rt.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(old + suffix)
		if err == nil {
			err = os.WriteFile(w.path()+suffix, content, 0o600)
		}
		if err != nil {
			w.rt.Fatal(err)
		}
	}
	kept := len(w.all)
	w.append(lost)
	for _, e := range w.all[kept:] {
		w.missing[e.ID] = true
	}
	if err := w.db.Close(); err != nil {
		w.rt.Fatal(err)
	}
	if len(w.all) > 0 {
		w.crash = w.all[len(w.all)-1].ID
	}
	w.open()
}

// check reads the events after an ID, or from the beginning, and compares them with the model.
func (w *timelineModel) check(from int) {
	var id uint64
	if from > 0 {
		id = w.all[from-1].ID
	}
	var want []client.Event
	lost := id != 0 && id <= w.crash && w.crash != 0 // something may have been lost after it
	before := from > 0
	for _, e := range w.all[from:] {
		if w.missing[e.ID] {
			// A reader without events misses nothing of a time line that has
			// not begun.
			lost = lost || before
			continue
		}
		before = true
		want = append(want, e)
	}
	got, gap, err := w.db.After(w.ctx, id)
	if err != nil {
		w.rt.Fatal(err)
	}
	for i := 1; i < len(got); i++ {
		if got[i].ID <= got[i-1].ID {
			w.rt.Fatalf("event %d follows event %d", got[i].ID, got[i-1].ID)
		}
	}
	same := slices.EqualFunc(got, want, func(a, b client.Event) bool { return a.ID == b.ID && a.Text == b.Text })
	switch {
	case lost && !gap:
		w.rt.Fatalf("after number %d something was lost, and no gap is reported", from)
	case !gap && !same:
		w.rt.Fatalf("after number %d came %d events without a gap, want %d", from, len(got), len(want))
	case gap && !lost && len(want) <= w.retain && id > w.crash:
		w.rt.Fatalf("a gap is reported after number %d of %d, and nothing is missing", from, len(w.all))
	}
	if least := min(len(want), w.retain); len(got) < least || least > 0 && got[len(got)-1].ID != want[len(want)-1].ID {
		w.rt.Fatalf("after number %d came %d events, want at least the %d newest", from, len(got), least)
	}
}

// TestReadersGetEveryEventOrAGap appends events and ends the store in every way, at random, and
// checks that a reader gets every event that exists, in order, and a gap where one is lost.
func TestReadersGetEveryEventOrAGap(t *testing.T) {
	t.Parallel()
	base, blank := t.TempDir(), blankDatabase(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w := &timelineModel{
			rt: rt, ctx: t.Context(), dir: filepath.Join(base, fmt.Sprint(runs)), retain: rapid.IntRange(1, 40).Draw(rt, "retain"),
			missing: map[uint64]bool{}, blank: blank,
		}
		w.now.Store(1_800_000_000_000)
		w.begin()
		defer func() {
			if err := errors.Join(w.db.Close(), os.RemoveAll(w.dir)); err != nil {
				t.Error(err)
			}
		}()
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				w.append(rapid.IntRange(1, 30).Draw(rt, "events"))
			case 2:
				w.restart()
			case 3:
				w.kill(rapid.IntRange(0, 3).Draw(rt, "lost"))
			}
			if rapid.Bool().Draw(rt, "settle") {
				w.waitWritten()
			}
			w.check(rapid.IntRange(0, len(w.all)).Draw(rt, "from"))
		}
	})
}

// TestRetentionByAgeAndBytesKeepsTheNewest checks that the limits of age and size remove the oldest
// events.
func TestRetentionByAgeAndBytesKeepsTheNewest(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	for name, limit := range map[string]Retention{"age": {Age: time.Hour}, "bytes": {Bytes: 5000}} {
		t.Run(name, func(t *testing.T) {
			w := &timelineModel{dir: t.TempDir()}
			db, err := Open(t.Context(), Options{
				Path: w.path(), Now: func() time.Time { return now }, Retain: limit, tail: 4, unwritten: 1 << 20,
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 3000 {
				if _, err := db.Append(t.Context(), client.Event{Kind: "session.status", Time: now.Add(-2 * time.Hour), Text: "old"}); err != nil {
					t.Fatal(err)
				}
			}
			newest, err := db.Append(t.Context(), client.Event{Kind: "session.status", Text: "newest"})
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(2 * time.Minute); ; {
				all, gap, err := db.After(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if gap && len(all) < 100 && all[len(all)-1].ID == newest.ID {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d events are kept, gap %v", len(all), gap)
				}
				<-time.After(20 * time.Millisecond)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
