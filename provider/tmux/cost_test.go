package tmux_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gascity/provider/tmux"
)

// maxAsked is the maximum number of commands to the server for one prompt that is accepted at once: the owner of
// the pane, the delivery lock, the screen, the text, the screen, Enter, and the screen until it shows that the
// prompt was accepted. The agent may draw twice.
const maxAsked = 8

// A prompt repeats no command, because each one waits while other sessions print a lot.
func TestPromptNeedsFewCommands(t *testing.T) {
	t.Parallel()
	needsTmux(t)
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	heard := filepath.Join(t.TempDir(), "heard")
	r := newTestCity(t, func(cfg *tmux.Config) {
		cfg.Binary = filepath.Join(t.TempDir(), "tmux")
		listens := "#!/bin/sh\ncase \" $* \" in *' -C '*) tee '" + heard + "' | '" + program + "' \"$@\" ;; *) exec '" + program + "' \"$@\" ;; esac\n"
		if err := os.WriteFile(cfg.Binary, []byte(listens), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	})
	asked := func() int {
		text, err := os.ReadFile(heard)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n")) / 2 // each command has two lines
	}
	a := r.start("one", "claude", "")
	a.prompt("the first one")
	least := 1 << 10
	for end := time.Now().Add(limit); least > maxAsked && time.Now().Before(end); { // commands of others are counted, too
		before := asked()
		a.prompt("one more")
		least = min(least, asked()-before)
	}
	if least > maxAsked {
		t.Errorf("a prompt asks for %d lines, want at most %d", least, maxAsked)
	}
}
