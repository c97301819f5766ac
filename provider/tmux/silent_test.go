package tmux_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gascity/runtime"
)

// A program in tmux that reads lines without echo accepts each prompt once and complete, also if the deliverer
// was killed.
func TestAgentWithoutEchoAcceptsPrompts(t *testing.T) {
	r := newTestCity(t)
	a := &agent{r, "silent", filepath.Join(r.dir, "silent.text.taken")}
	const loop = `stty -echo; printf '> '; while IFS= read -r l; do printf '%s\n' "$l" >>"$TAKEN"; printf 'ok\n> '; done`
	err := r.Start(t.Context(), a.name, runtime.Config{Command: loop, WorkDir: r.dir, Env: map[string]string{"TAKEN": a.file}, ReadyPromptPrefix: "> "})
	if err != nil {
		t.Fatal(err)
	}
	a.prompt("first")
	a.kill("killed", "killed")
	if state := a.recovers("killed", "killed"); state != runtime.OutcomeSubmitted {
		t.Errorf("the prompt whose deliverer was killed is %s", state)
	}
	a.prompt("last")
	until(t, "three prompts", func() bool {
		got, err := os.ReadFile(a.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(got) == "first\nkilled\nlast\n"
	})
}
