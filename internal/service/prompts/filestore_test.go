package prompts_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/service/prompts"
)

// TestFilesOfASession: a file exists from Write to Remove, readable only by the user of its session. A session
// without a directory gets none.
func TestFilesOfASession(t *testing.T) {
	s := prompts.FileStore{Dir: filepath.Join(t.TempDir(), "prompts")}
	if _, err := s.Write("one", "p-1", "text"); !errors.Is(err, prompts.ErrNoFolder) {
		t.Fatalf("Write without a folder: %v, want ErrNoFolder", err)
	}
	folder, err := s.Open("one")
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Write("one", "p-1", "a\r\n\u200b")
	if err != nil || filepath.Dir(path) != folder {
		t.Fatalf("Write: %q, %v", path, err)
	}
	again, err := s.Write("one", "p-1", "the same prompt again")
	if err != nil || again != path {
		t.Fatalf("the second Write: %q, %v", again, err)
	}
	if _, err := s.Write("one", "../p-2", "text"); err == nil {
		t.Error("an ID leads out of the folder")
	}
	if err := errors.Join(s.RemoveExcept(map[string]bool{"p-1": true}), s.Remove("one", "p-2")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := s.Remove("one", "p-1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if err := s.Close("one"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the last Close: %v", err)
	}
}
