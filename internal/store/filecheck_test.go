package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/store"
)

// TestRemovedDatabaseFileIsAFault checks that the store accepts no change after its file was
// removed, because it would be lost, and that Close reports an error.
func TestRemovedDatabaseFileIsAFault(t *testing.T) {
	tests := map[string]struct {
		away   func(t *testing.T, path string)
		reason string
	}{
		"removed":         {func(t *testing.T, path string) { remove(t, path) }, "the file was removed while the controller ran"},
		"all removed":     {func(t *testing.T, path string) { remove(t, path, path+"-wal", path+"-shm") }, "the file was removed while the controller ran"},
		"journal removed": {func(t *testing.T, path string) { remove(t, path+"-wal") }, "the file was removed while the controller ran (city.db-wal"},
		"folder moved":    {func(t *testing.T, path string) { move(t, filepath.Dir(path), filepath.Dir(path)+".old") }, "the file was removed while the controller ran"},
		"replaced":        {replace, "the file was replaced while the controller ran"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, told := filepath.Join(t.TempDir(), ".gc", "city.db"), newFaults()
			db := open(t, store.Options{Path: path, OnFault: told.record})
			if _, _, err := db.AddReceipt(t.Context(), prompt.Receipt{ID: "before", Session: "s"}); err != nil {
				t.Fatal(err)
			}
			test.away(t, path)
			for range 2 {
				_, _, err := db.AddReceipt(t.Context(), prompt.Receipt{ID: "after", Session: "s"})
				if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), test.reason) ||
					!strings.Contains(err.Error(), "gc controller stop, then gc start") {
					t.Errorf("a receipt that would be lost is %v, want %q and a remedy", err, test.reason)
				}
			}
			if is := told.next(t, 0); !errors.Is(is, store.ErrUnavailable) || db.Fault() == nil {
				t.Errorf("the fault is %v, reported was %v", db.Fault(), is)
			}
			if got, err := db.OpenReceipts(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%d receipts were read from what is no longer the city's, error %v", len(got), err)
			}
			if _, err := db.Append(t.Context(), client.Event{Kind: string(event.SessionStatus)}); err != nil {
				t.Errorf("nothing can be appended meanwhile: %v", err)
			}
			if err := db.Close(); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("the end of a store without a file is %v, want an error", err)
			}
		})
	}
}

// TestCloseReportsARemovedFile checks that Close reports a removed file although nothing was
// written since.
func TestCloseReportsARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	db := open(t, store.Options{Path: path})
	if err := db.Save(t.Context(), record("a")); err != nil {
		t.Fatal(err)
	}
	remove(t, path)
	if err := db.Close(); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("the end of a store whose file was removed is %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed file is there again: %v", err)
	}
}

// TestReplacementIsNotTouched checks that a file that another program has put in the place of the
// database is not changed, nor its journal.
func TestReplacementIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	db := open(t, store.Options{Path: path})
	if err := db.Save(t.Context(), record("a")); err != nil {
		t.Fatal(err)
	}
	replace(t, path)
	journal := []byte("the journal of another")
	if err := os.WriteFile(path+"-wal.new", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	move(t, path+"-wal.new", path+"-wal")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Save(t.Context(), record("b")); err == nil {
		t.Error("a record was kept in a file that was replaced")
	}
	if err := db.Close(); err == nil {
		t.Error("the end of a store whose file was replaced is a good one")
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the replacement was changed, error %v", err)
	}
	if got, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(got, journal) {
		t.Errorf("the replacement's journal is %q, error %v", got, err)
	}
}

// TestFaultEndsWhenTheFileIsBack checks that the fault ends when the same file is at its path
// again.
func TestFaultEndsWhenTheFileIsBack(t *testing.T) {
	path, told := filepath.Join(t.TempDir(), "city.db"), newFaults()
	db := open(t, store.Options{Path: path, OnFault: told.record})
	move(t, path, path+".away")
	if err := db.Save(t.Context(), record("during")); err == nil {
		t.Error("a record was kept in a file that was moved away")
	}
	if is := told.next(t, 0); is == nil {
		t.Error("the first change of the faults is an end")
	}
	move(t, path+".away", path)
	if is := told.next(t, 1); is != nil {
		t.Errorf("the file is back, and reported was %v", is)
	}
	if err := db.Save(t.Context(), record("after")); err != nil || count(t, db) != 1 {
		t.Errorf("%d records are kept, error %v; want 1", count(t, db), err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// replace replaces the database by a valid one of another city.
func replace(t *testing.T, path string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "city.db")
	if err := open(t, store.Options{Path: other}).Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	move(t, path+".new", path)
}
