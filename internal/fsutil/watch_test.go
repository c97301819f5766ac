package fsutil_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/fsutil"
)

func TestAWatchedFileReportsItsChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	ctx, cancel := context.WithCancel(t.Context())
	changed, err := fsutil.WatchFile(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	await := func(what string) {
		t.Helper()
		select {
		case _, open := <-changed:
			if !open {
				t.Fatalf("%s: the channel is closed", what)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is not reported", what)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "new")
	await("a new file")
	write(path+".next", "another")
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	await("a file in its place")
	cancel()
	for range changed { // at most one value waits
	}
	if _, err := fsutil.WatchFile(t.Context(), filepath.Join(path, "absent", "b")); err == nil {
		t.Error("a file in a missing folder is watched")
	}
}
