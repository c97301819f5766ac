package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/cli/cmdenv"
	"gascity/test/tier"
)

// TestEditorThatFails: an editor can have changed the file before it fails, so gc does not say that nothing was changed. Of a prompt it does, because
// gc does not use the file then.
func TestEditorThatFails(t *testing.T) {
	tier.Process(t)
	file := filepath.Join(t.TempDir(), "city.toml")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Base: viewAt(cmdenv.Env{
		Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, IsTerminal: func(any) bool { return false },
		Getenv: func(key string) string { return map[string]string{"EDITOR": `sh -c 'echo new >"$1"; exit 1' sh`}[key] },
	})}
	err := a.openEditor(t.Context(), file)
	text, readErr := os.ReadFile(file)
	if readErr != nil || string(text) != "new\n" {
		t.Fatalf("the editor of the test has written %q (%v)", text, readErr)
	}
	if err == nil || strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("an editor that changed the file and failed is reported as %v", err)
	}
	if _, err := a.editText(t.Context(), "old"); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("an editor that failed on a prompt is reported as %v", err)
	}
}
