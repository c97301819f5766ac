package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gascity/internal/cli/cmdenv"
)

// editText opens the person's editor ($VISUAL, else $EDITOR, else vi) on the text of a prompt and returns the new text. The line end that
// editors add to the last line is not part of it. The file is in a directory of its own, which is removed with all that the editor has
// left there, because a prompt may be confidential.
func (a *app) editText(ctx context.Context, text string) (string, error) {
	dir, err := os.MkdirTemp("", "gc-prompt-")
	if err != nil {
		return "", fmt.Errorf("cannot write the prompt for the editor: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what remains is readable only by the person
	file := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("cannot write the prompt for the editor: %w", err)
	}
	if err := a.openEditor(ctx, file); err != nil {
		return "", fmt.Errorf("nothing was changed: %w", err)
	}
	edited, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read what the editor wrote, so nothing was changed: %w", err)
	}
	return strings.TrimSuffix(string(edited), "\n"), nil
}

// openEditor opens the person's editor on a file, and returns when the person has closed it. If it returns an error, the editor may have changed the
// file before.
func (a *app) openEditor(ctx context.Context, file string) error {
	editor := cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR"), "vi")
	run := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", file) //nolint:gosec // it is the person's own command
	run.Stdin, run.Stdout, run.Stderr = a.Stdin, cmdenv.Raw(a.Stdout), cmdenv.Raw(a.Stderr)
	if err := run.Run(); err != nil {
		return fmt.Errorf("the editor %q failed: %w; set EDITOR to another one", editor, err)
	}
	return nil
}
