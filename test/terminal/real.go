package terminal

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/internal/agentcli"
	"gascity/internal/fakeagent/ledger"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

// Real is the fake agent on a real pseudo terminal.
type Real struct {
	*Fake
	File string // its ledger
}

// NewReal starts the fake agent. Its output is painted as it comes; what it is
// sent goes through the kernel's terminal.
func NewReal(t *testing.T, flags ...string) *Real {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ledger")
	cmd := exec.CommandContext(t.Context(), build.Build(t), append([]string{"--ledger", file, "--max-life", "2m"}, flags...)...)
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	return &Real{Fake: NewProgram(t, cmd, Cols, Rows), File: file}
}

// NewProgram starts a program on a pseudo terminal of the size. It ends with the test at the
// latest.
func NewProgram(t *testing.T, cmd *exec.Cmd, cols, rows int) *Fake {
	t.Helper()
	a := New()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}) //nolint:gosec // a size
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan []byte, 64)
	a.screen = vt.New(cols, rows, &vt.Options{Reply: func(p []byte) { replies <- slices.Clone(p) }})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			if n > 0 {
				a.Print(string(buf[:n]))
			}
			if err != nil {
				a.Set(func(f *screen.Frame) { f.Exited = true })
				return
			}
		}
	}()
	go func() { // what the program asks of its terminal is answered
		for {
			select {
			case p := <-replies:
				_, _ = tty.Write(p) // a program that is gone needs no answer
			case <-ended:
				return
			}
		}
	}()
	a.Program = func(p []byte) {
		if _, err := tty.Write(p); err != nil {
			t.Errorf("cannot write to the terminal: %v", err)
		}
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()         // killed
		_ = tty.Close()        // only read from
		<-ended
	})
	return a
}

// WaitPrompts returns the prompts of the ledger when there are n. It fails the test if there are fewer after 20 seconds.
func (a *Real) WaitPrompts(t *testing.T, n int) []ledger.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records, err := ledgertest.Wait(ctx, a.File, ledgertest.Has(ledger.Prompt, n))
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Prompts(records)
}

// Rules returns the rules of a built-in profile.
func Rules(tb testing.TB, profile string) screen.Rules {
	tb.Helper()
	p, err := agentcli.Builtin().Get(profile)
	if err != nil {
		tb.Fatal(err)
	}
	return screen.Rules{Screen: p.Screen, Dialogs: p.Dialogs, ReadyPrefix: p.ReadyPromptPrefix, AnswerDialogs: true}
}

// RealRules returns the rules of a built-in profile as they fit a [Real].
func RealRules(tb testing.TB, profile string) screen.Rules {
	rules := Rules(tb, profile)
	rules.ReadyPrefix = "❯ "
	if profile == "generic" {
		rules.Screen.InputBox.Marks = []string{"❯ "}
	}
	return rules
}

// Ready waits until the agent takes prompts.
func (a *Real) Ready(t *testing.T, rules screen.Rules) {
	t.Helper()
	got, err := screen.Ready(t.Context(), a, rules, 30*time.Second)
	if err != nil || got.State != screen.ReadyPrompt {
		t.Fatalf("%+v, %v\n%s", got, err, strings.Join(a.frame.Rows, "\n"))
	}
}

// Wait waits until the function matches returns true for a frame.
func (a *Real) Wait(t *testing.T, matches func(screen.Frame) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for seq := uint64(0); ; {
		f, err := a.Frame(ctx, seq)
		if err != nil {
			t.Fatal(err)
		}
		if matches(f) {
			return
		}
		seq = f.Seq
	}
}
