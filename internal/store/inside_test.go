package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

func openSteps(t *testing.T, path string, steps []string) (*DB, error) {
	t.Helper()
	db, err := open(t.Context(), Options{Path: path}, steps)
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

func records(t *testing.T, db *DB) int {
	t.Helper()
	got, err := db.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(got)
}

func fillV1(t *testing.T, path string) {
	t.Helper()
	db, err := openSteps(t, path, migrations[:1])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := db.Save(t.Context(), session.Record{Session: fmt.Sprint(i), Provider: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationGoesForwardWithACopy checks that a database of an older version is copied and then
// migrated.
func TestMigrationGoesForwardWithACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	fillV1(t, path)
	later := []string{migrations[0], "ALTER TABLE usage RENAME TO spent; CREATE TABLE two (a)", "INSERT INTO two VALUES (3)"}
	db, err := openSteps(t, path, later)
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, db); got != 3 {
		t.Errorf("%d records are left after the migration, want 3", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openSteps(t, path, later); err != nil {
		t.Errorf("a migrated database is not opened again: %v", err)
	}
	if _, err := openSteps(t, path, migrations[:1]); !errors.Is(err, ErrNewer) {
		t.Errorf("version 3 was opened as version 1, error %v", err)
	}
	info, err := os.Stat(path + ".bak-v1")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy is %v, error %v; want it for this user alone", info, err)
	}
	old, err := openSteps(t, path+".bak-v1", migrations[:1])
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, old); got != 3 || old.Damage() != nil {
		t.Errorf("the copy has %d records, want 3", got)
	}
}

// TestMigrationThatFailsChangesNothing checks that a failed migration leaves the database as it
// was.
func TestMigrationThatFailsChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	fillV1(t, path)
	_, err := openSteps(t, path, []string{migrations[0], "CREATE TABLE two (a)", "INSERT INTO nowhere VALUES (1)"})
	if err == nil || !strings.Contains(err.Error(), "version 1 to 3") || errors.Is(err, ErrDamaged) {
		t.Errorf("a migration that fails is %v", err)
	}
	db, err := openSteps(t, path, migrations[:1])
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, db); got != 3 || db.Damage() != nil {
		t.Errorf("%d records are left after a failed migration, want 3", got)
	}
}

// leaveHalfWritten creates the files that a process leaves that is killed in the middle of its
// first transaction: pages in the database, and a journal that undoes them.
func leaveHalfWritten(t *testing.T, path string, before, during []string) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "live.db")
	conn, err := connect(t.Context(), source(live))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range slices.Concat(before, []string{"PRAGMA cache_size = 1", "BEGIN IMMEDIATE"}, during) {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"", "-journal"} {
		data, err := os.ReadFile(live + part)
		if err == nil && len(data) == 0 {
			err = errors.New("empty")
		}
		if err == nil {
			err = os.WriteFile(path+part, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledWhileItMakesTheDatabase checks that the database of a controller that was killed while
// it created it can be opened: nothing was stored yet, so nothing is lost, and the file is not
// renamed.
func TestKilledWhileItMakesTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	leaveHalfWritten(t, path, nil, migrations)
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if db.Damage() != nil {
		t.Errorf("a new database counts as damaged: %v", db.Damage())
	}
	if err := db.Save(t.Context(), session.Record{Session: "one", Provider: "p"}); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := records(t, again); got != 1 || again.Damage() != nil {
		t.Errorf("%d records are left, want 1; damage %v", got, again.Damage())
	}
}

// TestAnotherProgramsHalfWrittenDatabase checks that the unfinished database of another program is
// renamed with its journal, and that nothing of it is in the new one.
func TestAnotherProgramsHalfWrittenDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "city.db")
	large := "INSERT INTO theirs SELECT randomblob(100000)"
	leaveHalfWritten(t, path, []string{"CREATE TABLE theirs (a)", large}, []string{"DELETE FROM theirs", large, large})
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if d := db.Damage(); d == nil || !errors.Is(d.Err, ErrDamaged) {
		t.Fatalf("the damage is %v", d)
	}
	if got := records(t, db); got != 0 {
		t.Errorf("the new database has %d records", got)
	}
	theirs, err := connect(t.Context(), source(db.Damage().File))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	var rows int
	if err := theirs.QueryRowContext(t.Context(), "SELECT count(*) FROM theirs").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("what was set aside has %d rows, want the 1 that was kept: %v", rows, err)
	}
}

// TestSlowDisk checks that a caller that waits for too long gets an error, and that the fault ends
// by itself.
func TestSlowDisk(t *testing.T) {
	told := make(chan error, 10)
	db, err := Open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "city.db"), Timeout: 30 * time.Millisecond, OnFault: func(err error) { told <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	hold, held := make(chan struct{}), make(chan struct{})
	stuck := make(chan error, 1)
	go func() {
		stuck <- db.write(context.WithoutCancel(t.Context()), "wait for the disk", survivesKill, func(context.Context, *tx) error {
			close(held)
			<-hold
			return nil
		})
	}()
	<-held
	err = db.Save(t.Context(), session.Record{Session: "late", Provider: "p"})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "too slow") || db.Fault() == nil {
		t.Errorf("a slow disk is %v, the fault is %v", err, db.Fault())
	}
	if err := <-stuck; !errors.Is(err, ErrUnavailable) {
		t.Errorf("who is stuck received %v", err)
	}
	if err := <-told; err == nil {
		t.Error("the first change of the faults is an end")
	}
	close(hold)
	if err := <-told; err != nil || db.Fault() != nil {
		t.Errorf("the disk works again, and the fault is %v, reported was %v", db.Fault(), err)
	}
	db.opts.Timeout = time.Minute // a busy disk is not the subject any more
	if got := records(t, db); got != 0 {
		t.Error("a save that failed was made all the same")
	}
}

// TestWritesAreAsDurableAsRequested checks that a change that must survive a power failure is
// synced before it is acknowledged, also if it shares its transaction with one that need not.
func TestWritesAreAsDurableAsRequested(t *testing.T) {
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "city.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, g := range []durability{survivesKill, survivesPower, survivesKill, survivesPower} {
		var level int
		if err := db.write(t.Context(), "look", g, func(ctx context.Context, tx *tx) error {
			_, err := tx.row(ctx, "PRAGMA synchronous", nil, []any{&level})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if want := map[durability]int{survivesKill: 1, survivesPower: 2}[g]; level != want {
			t.Errorf("grade %d writes with synchronous=%d, want %d", g, level, want)
		}
	}
}

// TestOneOfABatchFailsAlone checks that a change that fails does not make the other changes of its
// transaction fail.
func TestOneOfABatchFailsAlone(t *testing.T) {
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "city.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	hold, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := db.write(t.Context(), "wait", survivesKill, func(context.Context, *tx) error {
			close(held)
			<-hold
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-held
	results := make([]error, 20)
	for i := range results { // all gather behind the one that is held
		wg.Go(func() {
			r := prompt.Receipt{ID: fmt.Sprint(i), Session: "s"}
			if i%2 == 0 { // does half of something, and is refused
				results[i] = db.write(t.Context(), "fail", survivesKill, func(ctx context.Context, t *tx) error {
					if err := t.exec(ctx, "INSERT INTO session VALUES ('p', ?, '{}')", r.ID); err != nil {
						return err
					}
					return prompt.ErrUnknown
				})
				return
			}
			_, _, results[i] = db.AddReceipt(t.Context(), r)
		})
	}
	for deadline := time.Now().Add(10 * time.Second); len(db.jobs) < len(results); {
		if time.Now().After(deadline) {
			t.Fatal("the changes do not gather")
		}
		<-time.After(time.Millisecond)
	}
	close(hold)
	wg.Wait()
	for i, err := range results {
		if errors.Is(err, prompt.ErrUnknown) != (i%2 == 0) || i%2 == 1 && err != nil {
			t.Errorf("change %d returned %v", i, err)
		}
	}
	if got := records(t, db); got != 0 {
		t.Errorf("%d changes that failed were made all the same", got)
	}
	open, err := db.OpenReceipts(t.Context())
	if err != nil || len(open) != 10 || db.Fault() != nil {
		t.Errorf("%d receipts are kept, error %v, fault %v; want 10", len(open), err, db.Fault())
	}
}

// TestIdleStoreDoesNothing checks that a store without calls changes no file and starts no timer
// during a day.
func TestIdleStoreDoesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	synctest.Test(t, func(t *testing.T) {
		db, err := open(context.WithoutCancel(t.Context()), Options{Path: path}, migrations)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Save(t.Context(), session.Record{Session: "a", Provider: "p"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begin, before := time.Now(), stamp(t, path)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if after := stamp(t, path); after != before {
			t.Errorf("an idle store changed its files from %s to %s", before, after)
		}
		if time.Since(begin) != 24*time.Hour {
			t.Error("the clock is not the bubble's")
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// stamp returns the sizes and times of the store's files.
func stamp(t *testing.T, path string) string {
	t.Helper()
	var out string
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), " ")
	}
	return out
}
