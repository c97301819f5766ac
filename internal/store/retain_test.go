package store

import (
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
)

// TestOldEventsAreRemovedInBatches checks that, when a limit is reached, old events are removed in
// batches and not one for each new event, and that what is kept stays near the limit.
func TestOldEventsAreRemovedInBatches(t *testing.T) {
	t.Parallel()
	const events, size = 200, 1000
	for name, limit := range map[string]Retention{"bytes": {Bytes: 100 * size}, "age": {Age: 100 * time.Second}, "count": {Events: 100}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seconds atomic.Int64 // the writer of the store reads the clock at the same time
			now := func() time.Time { return time.UnixMilli(1_800_000_000_000 + 1000*seconds.Load()) }
			w := &timelineModel{dir: t.TempDir()}
			db, err := Open(t.Context(), Options{
				Path: w.path(), Now: now, Retain: limit, tail: 4, unwritten: 1 << 20,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			removals, first := 0, uint64(0)
			for range events {
				seconds.Add(1)
				e, err := db.Append(t.Context(), client.Event{Kind: "session.status", Time: now(), Text: strings.Repeat("x", size)})
				if err != nil {
					t.Fatal(err)
				}
				waitWritten(t, db, e.ID)
				kept, _, err := db.After(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if kept[0].ID != first {
					removals, first = removals+1, kept[0].ID
				}
				if len(kept) > 130 {
					t.Fatalf("%d events are kept", len(kept))
				}
			}
			if removals > events/8 {
				t.Errorf("events were removed %d times while %d were written", removals, events)
			}
		})
	}
}

// waitWritten waits until an event is in the database.
func waitWritten(t *testing.T, db *DB, id uint64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; goruntime.Gosched() {
		db.events.mu.Lock()
		written := db.events.written
		db.events.mu.Unlock()
		if written >= id {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("event %d is not written, the last one is %d", id, written)
		}
	}
}
