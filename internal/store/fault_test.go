package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/store"
	"gascity/runtime"
)

// longest bounds what a test waits for.
const longest = time.Minute

func open(t *testing.T, opts store.Options) *store.DB {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "city.db")
	}
	db, err := store.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// raw opens the database file with SQLite directly, as another program does.
func raw(t *testing.T, path string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		pool.Close()
	})
	return conn
}

func do(t *testing.T, conn *sql.Conn, query string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// faults are the calls of OnFault.
type faults struct {
	mu       sync.Mutex
	reported []error
	more     chan struct{}
}

func newFaults() *faults { return &faults{more: make(chan struct{}, 100)} }

func (f *faults) record(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reported = append(f.reported, err)
	f.more <- struct{}{}
}

// all returns all faults that were reported.
func (f *faults) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reported)
}

// next returns the report with number n.
func (f *faults) next(t *testing.T, n int) error {
	t.Helper()
	for {
		f.mu.Lock()
		if len(f.reported) > n {
			defer f.mu.Unlock()
			return f.reported[n]
		}
		f.mu.Unlock()
		select {
		case <-f.more:
		case <-time.After(longest):
			t.Fatalf("change %d was not reported of the store's faults", n)
		}
	}
}

func record(name string) session.Record { return session.Record{Session: name, Provider: "p"} }

func count(t *testing.T, db *store.DB) int {
	t.Helper()
	got, err := db.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(got)
}

// kinds returns the kinds of the events about the store.
func kinds(t *testing.T, db *store.DB) string {
	t.Helper()
	all, _, err := db.After(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		out = append(out, e.Kind)
	}
	return strings.Join(out, " ")
}

// TestLockedByAnotherProcess checks that a database that another process has locked is reported as
// a fault, which ends with the lock.
func TestLockedByAnotherProcess(t *testing.T) {
	path, told := filepath.Join(t.TempDir(), "city.db"), newFaults()
	db := open(t, store.Options{Path: path, LockWait: 10 * time.Millisecond, OnFault: told.record})
	if err := db.Save(t.Context(), record("before")); err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	do(t, other, "BEGIN IMMEDIATE")
	err := db.Save(t.Context(), record("during"))
	var typed *store.Error
	if !errors.Is(err, store.ErrUnavailable) || !errors.As(err, &typed) || !strings.Contains(err.Error(), "another process holds the database") ||
		typed.Path != path || typed.Remedy == "" {
		t.Errorf("a locked database is %v, want an error that says so, names the file and a remedy", err)
	}
	if is := told.next(t, 0); !errors.Is(is, store.ErrUnavailable) || db.Fault() == nil {
		t.Errorf("the fault is %v, reported was %v; want both to be set", db.Fault(), is)
	}
	e, err := db.Append(t.Context(), client.Event{Kind: string(event.SessionStatus)})
	if err != nil {
		t.Fatalf("nothing can be appended while the database is locked: %v", err)
	}
	if seen, gap, err := db.After(t.Context(), e.ID-1); len(seen) != 1 || gap || err != nil {
		t.Errorf("the event of the meantime is seen as %v, gap %v, error %v", seen, gap, err)
	}
	if got := count(t, db); got != 1 {
		t.Errorf("%d records can be read meanwhile, want 1", got)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: path, LockWait: 10 * time.Millisecond}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a locked database was opened, error %v", err)
	}
	do(t, other, "ROLLBACK")
	// Without writes the store finds out by itself.
	if is := told.next(t, 1); is != nil || db.Fault() != nil {
		t.Errorf("after the end of the fault reported was %v, the fault is %v", is, db.Fault())
	}
	if err := db.Save(t.Context(), record("after")); err != nil || count(t, db) != 2 {
		t.Errorf("the store does not go on: %d records, error %v", count(t, db), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := kinds(t, open(t, store.Options{Path: path})), "store.degraded session.status store.recovered"; got != want {
		t.Errorf("the time line is %q, want %q", got, want)
	}
}

// TestEventsThatCannotBeWrittenForTooLongAreAGap checks that the memory for events that cannot be
// written is limited, and that the lost events are reported.
func TestEventsThatCannotBeWrittenForTooLongAreAGap(t *testing.T) {
	t.Parallel()
	path, told := filepath.Join(t.TempDir(), "city.db"), newFaults()
	db := open(t, store.Options{Path: path, LockWait: time.Millisecond, OnFault: told.record})
	other := raw(t, path)
	do(t, other, "BEGIN IMMEDIATE")
	const n, most = 20_000, 16_384
	var first, last client.Event
	for i := range n {
		e, err := db.Append(t.Context(), client.Event{Kind: string(event.SessionStatus)})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = e
		}
		last = e
	}
	if is := told.next(t, 0); is == nil {
		t.Error("the first change of the faults is an end")
	}
	seen, gap, err := db.After(t.Context(), first.ID)
	if !gap || err != nil || len(seen) < 4096 || len(seen) > most || seen[len(seen)-1].ID < last.ID {
		t.Errorf("%d of %d unwritten events are remembered, gap %v, error %v; want a gap and a bounded number", len(seen), n, gap, err)
	}
	do(t, other, "ROLLBACK")
	if is := told.next(t, 1); is != nil {
		t.Fatal(is)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	after := open(t, store.Options{Path: path})
	again, gap, err := after.After(t.Context(), first.ID)
	if !gap || err != nil || len(again) < len(seen) {
		t.Errorf("after a restart %d events are remembered, gap %v, error %v; want %d and a gap", len(again), gap, err, len(seen))
	}
	if seen, gap, err := after.After(t.Context(), last.ID); gap || err != nil {
		t.Errorf("who has seen the last of them receives a gap, and %d events, error %v", len(seen), err)
	}
}

// TestReadOnlyFolder checks that a directory without write permission is reported as a fault.
func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("permissions mean nothing to root; see the read-only file system")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "city.db")})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "writable") {
		t.Errorf("a read-only folder is %v, want an error that says so", err)
	}
}

// TestContextThatHasEndedChangesNothing checks that a call with a context that has ended returns an
// error and writes nothing.
func TestContextThatHasEndedChangesNothing(t *testing.T) {
	db := open(t, store.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrClosed)
	if err := db.Save(ctx, record("a")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a save whose context has ended returned %v, want its cause", err)
	}
	if _, err := db.Load(ctx); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a load whose context has ended returned %v, want its cause", err)
	}
	if count(t, db) != 0 || db.Fault() != nil {
		t.Errorf("there are %d records and the fault %v, want neither", count(t, db), db.Fault())
	}
}

// TestClosedStoreSaysSo checks that every call after Close returns ErrClosed.
func TestClosedStoreSaysSo(t *testing.T) {
	db := open(t, store.Options{})
	waiting := make(chan error, 1)
	go func() { waiting <- db.Wait(t.Context(), 0) }()
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waiting; !errors.Is(err, store.ErrClosed) {
		t.Errorf("who waited for an event got %v", err)
	}
	_, appending := db.Append(t.Context(), client.Event{})
	_, reading := db.Load(t.Context())
	for what, err := range map[string]error{"save": db.Save(t.Context(), record("a")), "append": appending, "load": reading} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after the end returned %v, want ErrClosed", what, err)
		}
	}
}

// TestOneBadRowHidesNoOther checks that a row that cannot be read is named and that the others are
// returned.
func TestOneBadRowHidesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	db := open(t, store.Options{Path: path})
	for _, name := range []string{"a", "b", "c"} {
		if err := db.Save(t.Context(), record(name)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.AddReceipt(t.Context(), prompt.Receipt{ID: name, Session: name, Content: runtime.TextContent(name)}); err != nil {
			t.Fatal(err)
		}
	}
	other := raw(t, path)
	do(t, other, "UPDATE session SET body = '{\"session\": 7}' WHERE session = 'b'")
	do(t, other, "UPDATE receipt SET body = 'nonsense' WHERE id = 'c'")
	got, err := db.Load(t.Context())
	var bad *store.RowError
	if len(got) != 2 || !errors.As(err, &bad) || !strings.Contains(err.Error(), "b (p)") || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%d records were loaded, error %v; want 2 and the name of the bad one", len(got), err)
	}
	receipts, err := db.OpenReceipts(t.Context())
	if len(receipts) != 2 || !errors.As(err, &bad) || !strings.Contains(err.Error(), "receipt of c") {
		t.Errorf("%d receipts were read, error %v; want 2 and the name of the bad one", len(receipts), err)
	}
	if db.Fault() != nil {
		t.Errorf("a bad row is a fault of the store: %v", db.Fault())
	}
}

// TestFileIsForThisUserAlone checks that only this user can read the database file.
func TestFileIsForThisUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd #name?&%20", ".gc")
	path := filepath.Join(dir, "city.db")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	db := open(t, store.Options{Path: path})
	if err := db.Save(t.Context(), record("a")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, error %v; want mode %o", name, info, err, want)
		}
	}
}

// TestTokensAreNotInTheFile checks that the token of a record is not in the database file.
func TestTokensAreNotInTheFile(t *testing.T) {
	const canary = "canary-0123456789abcdef"
	path := filepath.Join(t.TempDir(), "city.db")
	db := open(t, store.Options{Path: path})
	r := record("a")
	r.Token, r.Instance = canary, session.PublicInstance(canary)
	r.Screen, r.Fault = "$ env\nGC_INSTANCE_TOKEN="+canary, "exited: "+canary
	if err := db.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		names, err := filepath.Glob(path + "*")
		if err != nil || len(names) == 0 {
			t.Fatalf("no files of the store: %v", err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(content), canary) {
				t.Errorf("%s: the token stands in %s", when, name)
			}
		}
	}
	look("open")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")
}
