package pty_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// A program that shows nothing while it works on its line still shows the line as it was typed.
// The prompt is submitted all the same, by one Enter: a second one would be another line.
func TestALineThatStaysOnTheScreenIsSubmittedOnce(t *testing.T) {
	t.Parallel()
	t.Run("the kernel collects the line", func(t *testing.T) {
		t.Parallel()
		a := beginCommand(t, func(file string) runtime.Config {
			const loop = `printf '> '; IFS= read -r l; printf '%s\n' "$l" >>"$TAKEN"; until [ -e "$TAKEN.go" ]; do sleep 0.1; done
				while IFS= read -r l; do printf '%s\n' "$l" >>"$TAKEN"; done`
			return runtime.Config{Command: loop, Env: map[string]string{"TAKEN": file}, ReadyPromptPrefix: "> "}
		})
		a.prompt(t, "first")
		if err := os.WriteFile(a.file+".go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := a.SendKeys(a.name, "e", "n", "d", "Enter"); err != nil {
			t.Fatal(err)
		}
		a.awaits(t, "first\nend\n")
	})
	for editor, inputrc := range map[string]string{
		"a line editor": "", "a line editor without bracketed paste": "set enable-bracketed-paste off\n",
	} {
		t.Run(editor, func(t *testing.T) {
			t.Parallel()
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Skip("bash: ", err)
			}
			rc := filepath.Join(t.TempDir(), "inputrc")
			if err := os.WriteFile(rc, []byte(inputrc), 0o600); err != nil {
				t.Fatal(err)
			}
			a := beginCommand(t, func(file string) runtime.Config {
				env := map[string]string{"TAKEN": file, "PS1": "> ", "INPUTRC": rc}
				return runtime.Config{Command: bash + " --norc -i", Env: env, ReadyPromptPrefix: "> "}
			})
			a.prompt(t, `read answer; echo "answer: $answer" >>"$TAKEN"`)
			if err := a.SendKeys(a.name, "y", "e", "s", "Enter"); err != nil {
				t.Fatal(err)
			}
			a.awaits(t, "answer: yes\n")
		})
	}
}

// awaits waits until the agent has read the lines of want, and no others.
func (a *ledgerSession) awaits(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; pause(10 * time.Millisecond) {
		got, err := os.ReadFile(a.file)
		switch {
		case string(got) == want:
			return
		case !strings.HasPrefix(want, string(got)), time.Now().After(end):
			t.Fatalf("the agent read %q, %v; want %q", got, err, want)
		}
	}
}
