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

// maxAsked is how many lines the server is asked for one prompt that is taken at once: whose
// pane it is, the right to deliver, the screen, the text, the screen, Enter, and the screen
// until it shows that the prompt was taken. The agent may paint twice.
const maxAsked = 8

// A prompt asks nothing twice: beside a flood each question waits.
func TestAPromptAsksLittle(t *testing.T) {
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
		return bytes.Count(text, []byte("\n")) / 2 // each has a fence
	}
	a := r.start("one", "claude", "")
	a.prompt("the first one")
	least := 1 << 10
	for end := time.Now().Add(limit); least > maxAsked && time.Now().Before(end); { // what others ask comes in between
		before := asked()
		a.prompt("one more")
		least = min(least, asked()-before)
	}
	if least > maxAsked {
		t.Errorf("a prompt asks for %d lines, want at most %d", least, maxAsked)
	}
}
