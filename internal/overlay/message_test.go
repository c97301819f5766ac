package overlay

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gascity/runtime"
)

// Text keeps its bytes, files are put into the working directory under names of their own, and
// the text says where, the same each time.
func TestMessage(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	file := func(path, text string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two, dot := file("a/x.txt", "one"), file("b/x.txt", "two"), file(".env", "three")
	block := func(path string) runtime.ContentBlock {
		return runtime.ContentBlock{Type: runtime.ContentFilePath, Path: path}
	}
	content := append(runtime.TextContent("  read\ttheses \n"), block(one), block(two), block(dot), block(one))
	want := "  read\ttheses \n\n[File staged: ./.gc/files/x.txt]\n[File staged: ./.gc/files/x-2.txt]\n[File staged: ./.gc/files/.env]\n[File staged: ./.gc/files/x.txt]"
	for range 2 {
		if got, err := MessageOf(content); err != nil || got.Text != want {
			t.Errorf("%q, %v, want %q", got.Text, err, want)
		}
	}
	m, err := MessageOf(content)
	if err != nil {
		t.Fatal(err)
	}
	places, err := m.Stage(work)
	if err != nil || !slices.Equal(places, []string{".gc/files/x.txt", ".gc/files/x-2.txt", ".gc/files/.env", ".gc/files/x.txt"}) {
		t.Errorf("staged %q, %v", places, err)
	}
	for place, text := range map[string]string{"x.txt": "one", "x-2.txt": "two", ".env": "three"} {
		if got, err := os.ReadFile(filepath.Join(work, ".gc/files", place)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v, want %q", place, got, err, text)
		}
	}
	if _, err := MessageOf([]runtime.ContentBlock{block(filepath.Join(dir, "none"))}); err == nil {
		t.Error("a file that is not there is no error")
	}
}
