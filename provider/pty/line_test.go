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

// A program that prints nothing while it processes its line still shows the typed line. The prompt is submitted
// by one Enter: a second one would be another line.
func TestLineThatStaysOnTheScreenIsSubmittedOnce(t *testing.T) {
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

// A prompt is not joined to an unfinished line of a person, in a program whose input box gc cannot read. The line is finished
// with Enter, or removed with a backspace for each character.
func TestUnfinishedLineOfAPersonIsNotSubmitted(t *testing.T) {
	t.Parallel()
	a := beginCommand(t, func(file string) runtime.Config {
		return runtime.Config{Command: `while IFS= read -r l; do printf '%s\n' "$l" >>"$TAKEN"; done`, Env: map[string]string{"TAKEN": file}}
	})
	deliver := func() runtime.Outcome {
		out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{ID: t.Name(), Content: runtime.TextContent("prompt")})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err := a.SendKeys(a.name, "m", "i", "n", "e"); err != nil {
		t.Fatal(err)
	}
	pause(4 * time.Second) // longer than the wait after a person's key
	if out := deliver(); out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedDraft {
		t.Errorf("%+v, want it refused as a draft", out)
	}
	if err := a.SendKeys(a.name, "Enter"); err != nil {
		t.Fatal(err)
	}
	a.awaits(t, "mine\n")
	pause(4 * time.Second)
	if out := deliver(); out.State == runtime.OutcomeRefused {
		t.Errorf("after the person's Enter: %+v", out)
	}
	a.awaits(t, "mine\nprompt\n")
	if err := a.SendKeys(a.name, "a", "b", "@", "BSpace", "BSpace"); err != nil {
		t.Fatal(err)
	}
	pause(4 * time.Second)
	if out := deliver(); out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedDraft {
		t.Errorf("while one character is left: %+v, want it refused as a draft", out)
	}
	if err := a.SendKeys(a.name, "BSpace"); err != nil {
		t.Fatal(err)
	}
	pause(4 * time.Second)
	if out := deliver(); out.State == runtime.OutcomeRefused {
		t.Errorf("after the last backspace: %+v", out)
	}
	a.awaits(t, "mine\nprompt\nprompt\n")
}
