package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

func spentAt(n int, at time.Time) usage.Entry {
	return usage.Entry{Run: "r", Message: fmt.Sprint(n), Session: "s", Agent: "a", At: at, Turn: true}
}

func spentIn(t *testing.T, db *DB) []usage.Entry {
	t.Helper()
	got, err := db.Usage(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestMigrationToVersion3 migrates a database that version 2 has written.
func TestMigrationToVersion3(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	old, err := openSteps(t, path, migrations[:2])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := old.Save(t.Context(), session.Record{Session: fmt.Sprint(i), Provider: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openSteps(t, path, migrations)
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, db); got != 3 || db.Damage() != nil {
		t.Errorf("%d records are left, damage %v", got, db.Damage())
	}
	if _, err := db.PutUsage(t.Context(), []usage.Entry{spentAt(1, time.Now())}); err != nil || len(spentIn(t, db)) != 1 {
		t.Errorf("a migrated database keeps nothing that is spent: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path + ".bak-v2")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy is %v, error %v; want it for this user alone", info, err)
	}
	before, err := openSteps(t, path+".bak-v2", migrations[:2])
	if err != nil || records(t, before) != 3 {
		t.Errorf("the copy is not version 2 with its records: %v", err)
	}
	if _, err := openSteps(t, path, migrations[:2]); !errors.Is(err, ErrNewer) {
		t.Errorf("version 3 was opened as version 2, error %v", err)
	}
}

// TestOldUsageIsRemoved checks that usage entries are removed only if they are too old or too many.
func TestOldUsageIsRemoved(t *testing.T) {
	now := time.Now()
	db, err := open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "city.db"), Now: func() time.Time { return now },
		Retain: Retention{Usage: 600, UsageAge: time.Hour}, Timeout: 2 * time.Minute,
	}, migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	put := func(entries ...usage.Entry) {
		t.Helper()
		if _, err := db.PutUsage(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
	var many []usage.Entry
	for i := range 1300 {
		many = append(many, spentAt(i, now.Add(-time.Minute+time.Duration(i))))
	}
	put(many...)
	put() // it goes on as long as there is more
	if got := spentIn(t, db); len(got) != 600 || got[0].Message != "700" {
		t.Errorf("%d are kept, the oldest is %s; want the last 600", len(got), got[0].Message)
	}
	now = now.Add(59*time.Minute + 30*time.Second)
	put(spentAt(9999, now))
	put()
	if got := spentIn(t, db); len(got) != 1 || got[0].Message != "9999" {
		t.Errorf("%d are kept, want only what is younger than the age", len(got))
	}
}
