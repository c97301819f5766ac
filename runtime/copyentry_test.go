package runtime_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/runtime"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func TestHashPathContentOfAFile(t *testing.T) {
	dir := folder(t, map[string]string{"a": "hello\n", "empty": ""})
	for name, want := range map[string]string{"a": sum("hello\n"), "empty": sum(""), "none": ""} {
		if got := runtime.HashPathContent(filepath.Join(dir, name)); got != want {
			t.Errorf("the hash of %s is %q, want %q", name, got, want)
		}
	}
}

func TestHashPathContentOfAFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"b": "2", "a/x": "1", "a.txt": "0",
		"__pycache__/m.pyc": "skip", "deep/.pytest_cache/f": "skip", "m.pyc": "skip", "m.pyo": "skip", ".a.swp": "skip", ".a.swx": "skip", "a~": "skip",
		".mypy_cache/f": "skip", ".ruff_cache/f": "skip",
		"visible.swp": "kept", "deep/__init__.py": "",
	})
	want := sum("a.txt\x000\x00a/x\x001\x00b\x002\x00deep/__init__.py\x00\x00visible.swp\x00kept\x00")
	if got := runtime.HashPathContent(dir); got != want {
		t.Errorf("the hash of the folder is %q, want that of its sorted list, %q", got, want)
	}
}

func TestHashPathContentOfSkippedNamesThemselves(t *testing.T) {
	dir := filepath.Join(folder(t, map[string]string{"__pycache__/a": "1"}), "__pycache__")
	if got := runtime.HashPathContent(dir); got != sum("a\x001\x00") {
		t.Errorf("a folder that was named itself is skipped: %q", got)
	}
}

func TestHashPathContentFollowsLinksToFiles(t *testing.T) {
	dir := folder(t, map[string]string{"target": "text"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	if got := runtime.HashPathContent(link); got != sum("text") {
		t.Errorf("the hash of a link is %q, want that of its target", got)
	}
	if got := runtime.HashPathContent(dir); got != sum("link\x00text\x00target\x00text\x00") {
		t.Errorf("the hash of a folder with a link is %q, want the target's content in it", got)
	}
}

// TestHashPathContentIsNeverPartial puts one bad entry into a good folder.
func TestHashPathContentIsNeverPartial(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a dangling link":    func(path string) error { return os.Symlink("nowhere", path) },
		"a link to a folder": func(path string) error { return os.Symlink(".", path) },
		"a link to itself":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"a pipe":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		dir := folder(t, map[string]string{"good": "1"})
		if err := spoil(filepath.Join(dir, "bad")); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() { got <- runtime.HashPathContent(dir) }()
		select {
		case hash := <-got:
			if hash != "" {
				t.Errorf("a folder with %s has hash %q, want none", name, hash)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s blocks the hash", name)
		}
	}
}

func TestHashPathContentOfAnUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := folder(t, map[string]string{"good": "1", "secret": "2"})
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	if got := runtime.HashPathContent(dir); got != "" {
		t.Errorf("the hash is %q, want none", got)
	}
}

func TestHashPathContentOfALargeFile(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<16)
	dir := folder(t, map[string]string{"large": text})
	if got := runtime.HashPathContent(filepath.Join(dir, "large")); got != sum(text) {
		t.Errorf("the hash of 1 MiB is %q, want %q", got, sum(text))
	}
}
