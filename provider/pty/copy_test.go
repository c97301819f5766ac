package pty_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/fsutil"
	"gascity/runtime"
)

// Only files in the working directory of a session can be copied.
func TestCopyFrom(t *testing.T) {
	t.Parallel()
	a := begin(t, "")
	work, to := filepath.Dir(a.file), t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(work, "report.md"), []byte("done"), 0o600), os.Symlink("/etc/passwd", filepath.Join(work, "out")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := runtime.CopyFrom(t.Context(), a.Provider, a.name, "report.md", &out); err != nil {
		t.Fatal(err)
	}
	if _, err := fsutil.UnpackArchive(&out, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "report.md")); err != nil || string(text) != "done" {
		t.Errorf("%q, %v", text, err)
	}
	for what, want := range map[[2]string]error{
		{a.name, "missing"}: fs.ErrNotExist, {a.name, "../x"}: fs.ErrInvalid, {a.name, "out"}: nil, {"nobody", "report.md"}: runtime.ErrSessionNotFound,
	} {
		if err := runtime.CopyFrom(t.Context(), a.Provider, what[0], what[1], io.Discard); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s of %s: %v", what[1], what[0], err)
		}
	}
}
