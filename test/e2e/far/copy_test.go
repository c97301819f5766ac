package far_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file is copied to an agent on another host and back without a change.
func TestCopyBothWays(t *testing.T) {
	t.Parallel()
	f := newSSHServer(t, options{})
	c := newCity(t, f, f.agent(t, "worker", ""))
	here := t.TempDir()
	text := strings.Repeat("there and back; ", 1<<16)
	if err := os.WriteFile(filepath.Join(here, "notes"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(f, "copy", filepath.Join(here, "notes"), "worker:deep/down/notes")
	c.run(f, "copy", "worker:deep", filepath.Join(here, "back"))
	if back, err := os.ReadFile(filepath.Join(here, "back", "down", "notes")); err != nil || string(back) != text {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	for what, code := range map[string]int{"worker:missing": 3, "worker:../../..": 1, "worker:/etc/passwd": 1, "nobody:notes": 3} {
		if out, got := c.gc(f, "copy", what, here); got != code {
			t.Errorf("gc copy %s: %d\n%s", what, got, out)
		}
	}
	// The connection is lost: that is reported, and no partial file is
	// left.
	f.signal(syscall.SIGKILL)
	f.down()
	if out, code := c.gc(f, "copy", "worker:deep", filepath.Join(here, "lost")); code != 1 {
		t.Errorf("without the host: %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(here, "lost")); err == nil {
		t.Error("something was made of nothing")
	}
	f.resume(t)
}
