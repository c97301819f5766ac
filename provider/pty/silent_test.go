package pty_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// beginSilent starts a session of a program that reads lines without echo. It returns what the program has read.
func beginSilent(t *testing.T) (a *ledgerSession, read func() string) {
	t.Helper()
	a = beginCommand(t, func(file string) runtime.Config {
		const loop = `stty -echo; printf '> '; while IFS= read -r l; do printf '%s\n' "$l" >>"$TAKEN"; printf 'ok\n> '; done`
		return runtime.Config{Command: loop, Env: map[string]string{"TAKEN": file}, ReadyPromptPrefix: "> "}
	})
	return a, func() string {
		got, err := os.ReadFile(a.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(got)
	}
}

// A program that reads lines without echo accepts each prompt once and complete, also if the deliverer was
// killed after any step, or after the unfinished line of a person was removed.
func TestAgentWithoutEchoAcceptsPrompts(t *testing.T) {
	t.Parallel()
	a, read := beginSilent(t)
	want := []string{"first", "with ' \" $HOME \\"}
	for _, text := range want {
		a.prompt(t, text)
	}
	for steps := 1; steps < 4; steps++ {
		id := fmt.Sprint("killed-", steps)
		a.deliverUntilDeath(t, id, id, steps)
		if state := a.recovers(t, id, id); state != runtime.OutcomeSubmitted {
			t.Errorf("killed after %d steps: the prompt is %s", steps, state)
		}
		want = append(want, id)
	}
	if err := a.SendKeys(a.name, "d", "r", "a", "f", "t"); err != nil {
		t.Fatal(err)
	}
	out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent("glued")})
	if err != nil || out.Reason != runtime.RefusedDraft {
		t.Fatalf("behind an unfinished line: %+v, %v", out, err)
	}
	if err := runtime.ClearInput(t.Context(), a.Provider, a.name, ""); err != nil {
		t.Fatal(err)
	}
	a.prompt(t, "last")
	want = append(want, "last")
	if err := a.SendKeys(a.name, "m", "i", "n", "e", "Enter"); err != nil {
		t.Fatal(err)
	}
	want = append(want, "mine")
	a.prompt(t, "behind a finished line")
	want = append(want, "behind a finished line")
	for end := time.Now().Add(20 * time.Second); ; pause(10 * time.Millisecond) {
		if got := read(); got == strings.Join(want, "\n")+"\n" {
			return
		} else if time.Now().After(end) {
			t.Fatalf("the agent read %q, want %q", got, want)
		}
	}
}
