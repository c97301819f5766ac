package console

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/term"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// realAgent is the fake agent on a real pseudo terminal.
type realAgent struct {
	*fakeTerminal
	file string
}

// newReal starts the fake agent. Its output is painted as it comes; what it is
// sent goes through the kernel's terminal.
func newReal(t *testing.T, flags ...string) *realAgent {
	t.Helper()
	a := &realAgent{fakeTerminal: newFake(), file: filepath.Join(t.TempDir(), "ledger")}
	cmd := exec.CommandContext(t.Context(), build.Build(t), append([]string{"--ledger", a.file, "--max-life", "2m"}, flags...)...)
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: fakeRows, Cols: fakeCols})
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan []byte, 64)
	a.screen = term.New(fakeCols, fakeRows, &term.Options{Reply: func(p []byte) { replies <- slices.Clone(p) }})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			if n > 0 {
				a.print(string(buf[:n]))
			}
			if err != nil {
				a.set(func(f *Frame) { f.Exited = true })
				return
			}
		}
	}()
	a.program = func(p []byte) {
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

// taken returns the prompts of the ledger once there are n, or time has run out.
func (a *realAgent) taken(t *testing.T, n int) []ledger.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records, err := ledger.Wait(ctx, a.file, ledger.Has(ledger.Prompt, n))
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Prompts(records)
}

func realRules(t *testing.T, profile string) Rules {
	rules := profileRules(t, profile)
	rules.ReadyPrefix = "❯ "
	if profile == "generic" {
		rules.Screen.Composer.Marks = []string{"❯ "}
	}
	return rules
}

func realReady(t *testing.T, a *realAgent, rules Rules) {
	t.Helper()
	got, err := Ready(t.Context(), a, rules, 30*time.Second)
	if err != nil || got.State != ReadyPrompt {
		t.Fatalf("%+v, %v\n%s", got, err, strings.Join(a.frame.Rows, "\n"))
	}
}

// TestRealAgentTakesEveryText sends texts of awkward sizes and characters
// through a real terminal to a real process and compares hashes.
func TestRealAgentTakesEveryText(t *testing.T) {
	texts := []string{
		"x", ";", "a;", "-x", "!ls", "/clear", "trailing \\", "emoji 🚀👩‍👩‍👧 and 作業", "a\nb\n\n  c", "tab\there",
		"CR\rLF\r\nend", "'quoted' \"twice\" $HOME `x`",
	}
	for _, n := range []int{511, 512, 513, 4095, 4096, 4097, 16_300, 16_400, 64 << 10, 1 << 20} {
		texts = append(texts, strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz\n", n/38+1)[:n-1]+"$")
	}
	for _, profile := range []string{"claude", "generic"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			rules := realRules(t, profile)
			a := newReal(t)
			realReady(t, a, rules)
			for i, text := range texts {
				got, err := Deliver(t.Context(), a, Prompt{Text: text, Confirm: 30 * time.Second}, rules)
				if err != nil || got.State != runtime.OutcomeSubmitted {
					t.Fatalf("text %d of %d bytes: %+v, %v", i, len(text), got, err)
				}
				taken := a.taken(t, i+1)
				if len(taken) != i+1 || !taken[i].Is(text) {
					t.Fatalf("text %d of %d bytes: the agent took %d prompts, the last %d bytes", i, len(text), len(taken), taken[len(taken)-1].Bytes)
				}
			}
			if err := Idle(t.Context(), a, rules, 30*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRealAgentFaces(t *testing.T) {
	tests := map[string]struct {
		flags  []string
		answer []string
	}{
		"ignores the first Enter": {[]string{"--ignore-first-enter"}, nil},
		"newline if fast":         {[]string{"--newline-within", "120ms"}, nil},
		"slow start":              {[]string{"--slow-start", "700ms", "--ignore-input-until-ready"}, nil},
		"alternate screen":        {[]string{"--alt-screen"}, nil},
		"trust, No first":         {[]string{"--dialog", "trust-no-first"}, []string{"Yes, I trust this folder"}},
		"trust, extra":            {[]string{"--dialog", "trust-extra"}, []string{"Yes, I trust this folder"}},
		"trust, numbered":         {[]string{"--dialog", "trust-numbered"}, []string{"Yes, I trust this folder"}},
		"trust, reversed":         {[]string{"--dialog", "trust-reversed"}, []string{"Yes, I trust this folder"}},
		"three dialogs": {
			[]string{"--dialog", "trust-no-first,bypass,apikey"},
			[]string{"Yes, I trust this folder", "Yes, I accept", "Yes"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := realRules(t, "claude")
			a := newReal(t, test.flags...)
			realReady(t, a, rules)
			got, err := Deliver(t.Context(), a, Prompt{Text: "hello", Confirm: 20 * time.Second}, rules)
			if err != nil || got.State != runtime.OutcomeSubmitted {
				t.Errorf("%+v, %v", got, err)
			}
			if taken := a.taken(t, 1); len(taken) != 1 || strings.TrimRight(taken[0].Text, "\n") != "hello" {
				t.Errorf("agent took %+v", taken)
			}
			records, err := ledger.Read(a.file)
			if err != nil {
				t.Fatal(err)
			}
			var chosen []string
			for _, r := range records {
				if r.Kind == ledger.Dialog {
					chosen = append(chosen, r.Choice)
				}
			}
			if !slices.Equal(chosen, test.answer) {
				t.Errorf("chose %q, want %q", chosen, test.answer)
			}
		})
	}
}

func TestRealAgentHarmfulMenu(t *testing.T) {
	rules := realRules(t, "claude")
	a := newReal(t, "--dialog", "unknown")
	got, err := Ready(t.Context(), a, rules, 2*time.Second)
	if err != nil || got.State != ReadyBlocked || got.Unanswered == nil || len(got.Unanswered.Options) != 2 {
		t.Errorf("%+v, %v, want a report of the menu", got, err)
	}
	if out, err := Deliver(t.Context(), a, Prompt{Text: "hello"}, rules); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("%+v, %v, want a refusal", out, err)
	}
	if len(a.sent) > 0 {
		t.Errorf("it got %q", a.input())
	}
}

func TestRealAgentLateDialog(t *testing.T) {
	rules := realRules(t, "claude")
	a := newReal(t, "--dialog", "late-trust:300ms")
	realReady(t, a, rules)
	waitFor(t, a, func(f Frame) bool { return Recognise(f, rules) != nil })
	if out, err := Deliver(t.Context(), a, Prompt{Text: "hello"}, rules); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("%+v, %v, want a refusal", out, err)
	}
	if got, err := Dismiss(t.Context(), a, rules, 20*time.Second); err != nil || len(got.Answered) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func waitFor(t *testing.T, a *realAgent, seen func(Frame) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for seq := uint64(0); ; {
		f, err := a.Frame(ctx, seq)
		if err != nil {
			t.Fatal(err)
		}
		if seen(f) {
			return
		}
		seq = f.Seq
	}
}
