package overlay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteNeverReplacesWhatItHasNotSeen(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[existing]error{keepAny: fs.ErrExist, replaceSame: errChanged} {
		if err := writeFile(root, "f", file{strings.NewReader("ours"), 0o600, hash([]byte("older"))}, policy); !errors.Is(err, want) {
			t.Errorf("policy %d gives %v, want %v", policy, err, want)
		}
	}
	if err := writeFile(root, "g", file{strings.NewReader("ours"), 0o600, hash([]byte("older"))}, replaceSame); !errors.Is(err, errChanged) {
		t.Errorf("a file that is gone gives %v", err)
	}
	entries, err := os.ReadDir(dir)
	data, readErr := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil || readErr != nil || len(entries) != 1 || string(data) != "newer" {
		t.Errorf("left %v with %q (%v, %v)", entries, data, err, readErr)
	}
}
