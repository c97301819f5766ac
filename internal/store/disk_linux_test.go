package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/store"
	"gascity/runtime"
)

// smallDisk mounts a file system of the given size for the test.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("store-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk checks that a store on a full disk reports the fault, loses nothing that was
// acknowledged, and works again when there is space.
func TestFullDisk(t *testing.T) {
	dir, told := smallDisk(t, "1m"), newFaults()
	path := filepath.Join(dir, "city.db")
	db := open(t, store.Options{Path: path, OnFault: told.record})
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)

	var kept []string
	var failure error
	for n := 0; failure == nil; n++ {
		r := prompt.Receipt{ID: fmt.Sprint("r", n), Session: "s", Content: runtime.TextContent(strings.Repeat("x", 20_000))}
		if _, _, failure = db.AddReceipt(t.Context(), r); failure == nil {
			kept = append(kept, r.ID)
		}
		if n > 1000 {
			t.Fatal("the disk is never full")
		}
	}
	if !errors.Is(failure, store.ErrUnavailable) || !strings.Contains(failure.Error(), "disk is full") || !strings.Contains(failure.Error(), "free") {
		t.Errorf("a full disk is %v, want an error that says so and how to help", failure)
	}
	if is := told.next(t, 0); is == nil {
		t.Error("the first change of the faults is an end")
	}
	checkReceipts(t, db, kept)
	e, err := db.Append(t.Context(), client.Event{Kind: string(event.SessionStatus), Text: strings.Repeat("y", 50_000)})
	if err != nil {
		t.Fatalf("nothing can be appended while the disk is full: %v", err)
	}
	if seen, gap, err := db.After(t.Context(), e.ID-1); len(seen) != 1 || gap || err != nil {
		t.Errorf("the event of the meantime is seen as %d events, gap %v, error %v", len(seen), gap, err)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if is := told.next(t, 1); is != nil || db.Fault() != nil {
		t.Fatalf("there is space again, and the fault is %v, reported was %v", db.Fault(), is)
	}
	if _, _, err := db.AddReceipt(t.Context(), prompt.Receipt{ID: "after", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, "after")
	checkReceipts(t, db, kept)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, store.Options{Path: path})
	checkReceipts(t, db, kept)
	if got, want := kinds(t, db), "store.degraded session.status store.recovered"; got != want {
		t.Errorf("the time line is %q, want %q", got, want)
	}
}

// TestFullDiskIsReportedOnce checks that a small write that succeeds on a full disk does not end
// the fault: the end is reported once, when there is space for the writes that failed.
func TestFullDiskIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"records": 100, "prompts": 20_000, "long prompts": 400_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, told := smallDisk(t, "1500k"), newFaults()
			path := filepath.Join(dir, "city.db")
			db := open(t, store.Options{Path: path, OnFault: told.record})
			if err := db.Save(t.Context(), record("before")); err != nil {
				t.Fatal(err)
			}
			ballast := filepath.Join(dir, "ballast")
			fillWholeDisk(t, ballast)
			writeUntil(t, db, size, time.After(2500*time.Millisecond)) // the store tries three times meanwhile
			if got := told.all(); len(got) != 1 || got[0] == nil {
				t.Errorf("a full disk is reported as %d changes: %v; want one, a fault", len(got), got)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			if is := told.next(t, 1); is != nil || db.Fault() != nil {
				t.Errorf("there is space again, and the fault is %v, reported was %v", db.Fault(), is)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if got, want := kinds(t, open(t, store.Options{Path: path})), "store.degraded store.recovered"; got != want {
				t.Errorf("the time line is %q, want %q", got, want)
			}
		})
	}
}

// writeUntil writes something small and something of the given size, again and again.
func writeUntil(t *testing.T, db *store.DB, size int, end <-chan time.Time) {
	t.Helper()
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	refused := 0
	for n := 0; ; n++ {
		r := prompt.Receipt{ID: fmt.Sprint("r", n), Session: "s", Content: runtime.TextContent(strings.Repeat("x", size))}
		_, _, failure := db.AddReceipt(t.Context(), r)
		for _, err := range []error{failure, db.Save(t.Context(), record("small"))} {
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			if err != nil {
				refused++
			}
		}
		select {
		case <-pace.C:
		case <-end:
			if refused == 0 {
				t.Error("the disk is never full")
			}
			return
		}
	}
}

// fillWholeDisk fills the disk completely.
func fillWholeDisk(t *testing.T, name string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// fillDisk fills the disk except for about 200 KiB.
func fillDisk(t *testing.T, name string) {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(name), &disk); err != nil {
		t.Fatal(err)
	}
	free := int(disk.Bavail) * int(disk.Bsize) //nolint:gosec // a small disk
	if err := os.WriteFile(name, make([]byte, free-200<<10), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkReceipts(t *testing.T, db *store.DB, want []string) {
	t.Helper()
	open, err := db.OpenReceipts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range open {
		got = append(got, r.ID)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("kept are %v, acknowledged were %v", got, want)
	}
}

// TestReadOnlyFileSystem checks the error for a store on a read-only file system, and that its
// database is not renamed as damaged.
func TestReadOnlyFileSystem(t *testing.T) {
	dir := smallDisk(t, "1m")
	path := filepath.Join(dir, "city.db")
	if err := open(t, store.Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("cannot make the disk read-only: %v", err)
	}
	for _, path := range []string{path, filepath.Join(dir, "new", "city.db")} {
		_, err := store.Open(t.Context(), store.Options{Path: path})
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "writable") {
			t.Errorf("%s on a read-only disk is %v, want an error that says so", path, err)
		}
	}
	if names, err := filepath.Glob(path + "*damaged*"); len(names) > 0 || err != nil {
		t.Errorf("a read-only database was set aside: %v %v", names, err)
	}
}
