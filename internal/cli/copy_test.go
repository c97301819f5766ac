package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/fsutil"
)

// TestCopyOutNamesTheCause checks that a copy out of a session that the sender refuses reports
// the sender's reason alone, not that an archive ended early.
func TestCopyOutNamesTheCause(t *testing.T) {
	a := &app{Base: viewAt(cmdenv.Env{Stderr: &bytes.Buffer{}, IsTerminal: func(any) bool { return false }})}
	work, destination := t.TempDir(), t.TempDir()
	_, err := a.receive("worker:../secret", destination, func(w io.Writer) error {
		return fsutil.PackArchiveFrom(w, work, "../secret")
	})
	const want = "../secret is outside of the working directory; name a file in it, relative to it"
	if err == nil || err.Error() != want {
		t.Errorf("receive = %v, want %q", err, want)
	}
	if left, err := os.ReadDir(filepath.Clean(destination)); err != nil || len(left) > 0 {
		t.Errorf("the destination holds %v, want nothing (%v)", left, err)
	}
}
