package exec_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/test/fakeagent/build"
)

// imitated returns the agent CLI whose dialogs the fake agent shows.
func imitated(t *testing.T) string {
	t.Helper()
	set := agentcli.Builtin()
	for _, name := range set.Names() {
		if p, ok := set.Lookup(name); ok && len(p.Dialogs) > 0 && strings.HasPrefix(p.ReadyPromptPrefix, "❯") {
			return name
		}
	}
	t.Fatal("no agent CLI has dialogs")
	return ""
}

// dialog starts an agent that shows a dialog at its start, in a box with tmux.
func dialog(t *testing.T, answer bool, prompt string) (*scriptFixture, *exec.Provider, error) {
	t.Helper()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, box)
	p := pl.open()
	agent := runtimetest.Program{Path: build.Build(t)}.Agent(t, pl.dir, runtimetest.Behaviour{Dialog: true})
	pl.write("command", agent.Config.Command)
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
	})
	cfg := runtime.Config{Command: "c", ProviderName: imitated(t), AcceptStartupDialogs: &answer, Nudge: prompt}
	if answer {
		cfg.ReadyPromptPrefix = agent.Config.ReadyPromptPrefix
	}
	return pl, p, p.Start(t.Context(), "one", cfg)
}

// recorded counts the entries of the agent's ledger.
func (pl *scriptFixture) recorded(kind string) int {
	pl.t.Helper()
	entries, err := runtimetest.ParseLedger([]byte(pl.read(filepath.Base("ledger"))))
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestStartAnswersDialogs(t *testing.T) {
	t.Parallel()
	pl, p, err := dialog(t, true, "after the dialog")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the first prompt", func() bool { return pl.recorded(runtimetest.LedgerPrompt) == 1 })
	if !p.IsRunning("one") {
		t.Errorf("the dialog was refused")
	}
}

// A prompt is never typed into a dialog, also not by the next gc process.
func TestNoPromptIntoDialog(t *testing.T) {
	t.Parallel()
	pl, p, err := dialog(t, false, "")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the dialog", func() bool { text, err := p.Peek("one", 0); return err == nil && strings.Contains(text, "❯") })
	for _, p := range []*exec.Provider{p, pl.open()} {
		out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("x")})
		if out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedDialog || err != nil {
			t.Errorf("Deliver = %+v, %v, want refused for the dialog", out, err)
		}
	}
	if n := pl.recorded(runtimetest.LedgerPrompt) + pl.recorded(runtimetest.LedgerDialog); n > 0 || !p.IsRunning("one") {
		t.Errorf("the dialog got a key")
	}
}

// menus is a script whose session shows the content of the file "screen".
const menus = "case \"$op\" in peek) cat \"$D/screen\"; exit ;; esac\n" + fleet

// Screens that no rule knows. On the first two a prompt would choose an option. The others show the input box.
func TestNoPromptIntoUnknownMenu(t *testing.T) {
	t.Parallel()
	const asked = "❯ delete them\n● Shall I?\n──────\n Delete all?\n"
	for name, c := range map[string]struct {
		screen string
		up     bool
	}{
		"numbers":             {asked + " ❯ 1. Yes\n   2. No\n Esc to cancel\n", true},
		"no numbers":          {asked + " ❯ Yes\n   No\n\n Esc to cancel\n\n\n", true},
		"list in a prompt":    {"❯ 1. build it\n  2. test it\n● done\n──────\n❯ \n──────\n  ? for help\n", false},
		"answered, on screen": {asked + " ❯ 1. Yes\n   2. No\n Esc to cancel\n❯ \n", false},
		"nothing":             {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, menus)
			pl.write("screen", "❯ \n")
			p := pl.open()
			if err := p.Start(t.Context(), "one", runtime.Config{Command: "c", ReadyPromptPrefix: "❯"}); err != nil {
				t.Fatal(err)
			}
			pl.write("screen", c.screen)
			for _, p := range []*exec.Provider{p, pl.open()} { // also in the next gc process
				out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("1 and more")})
				refused := out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedDialog
				if refused != c.up || err != nil {
					t.Errorf("Deliver = %+v, %v; want a refusal for the menu: %v", out, err, c.up)
				}
			}
			if _, err := os.Stat(filepath.Join(pl.dir, "one.nudge")); (err == nil) == c.up {
				t.Errorf("the text reached the script: %v, want %v", err == nil, !c.up)
			}
		})
	}
}
