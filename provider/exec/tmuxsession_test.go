package exec_test

import (
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/test/fakeagent/build"
)

// box is a script whose box is this machine with a separate tmux server. It runs the agent in the session
// "main", and its only access is exec.
const box = `T="$D/t"
tm() { TMUX_TMPDIR="$T" TMUX= tmux -f /dev/null "$@"; }
case "$op" in
protocol) echo '{"version": 0, "capabilities": ["proc.exec"]}' ;;
start) cat > "$D/doc"; mkdir -p "$T"; tm new-session -d -x 200 -y 50 -s main "$(cat "$D/command")" && tm set-environment -t =main GC_SESSION_NAME "${OWNER-$name}" ;;
stop) tm kill-server 2>/dev/null; exit 0 ;;
is-running) tm has-session -t =main 2>/dev/null && echo true || echo false ;;
exec) TMUX_TMPDIR="$T" TMUX= sh ;;
set-meta) cat > "$D/meta.$3" ;;
get-meta) cat "$D/meta.$3" 2>/dev/null; exit 0 ;;
peek) echo plain peek ;;
*) exit 2 ;;
esac
`

func TestCarrier(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, box)
	p := pl.open()
	agent := runtimetest.Program{Path: build.Build(t)}.Agent(t, pl.dir, runtimetest.Behaviour{})
	pl.write("command", agent.Config.Command)
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
	})
	prompts := []string{
		"first", "two\nlines\tand a tab", "; a; \\; $(id) `id` 'quoted' \"x\" \\", "-x --", "!ls", "äöü 🎉",
		strings.Repeat("a long line of forty characters, and so.", 2000),
	}
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c", ReadyPromptPrefix: agent.Config.ReadyPromptPrefix, Nudge: prompts[0]}); err != nil {
		t.Fatal(err)
	}
	prompt := func(i int) {
		t.Helper()
		until(t, prompts[i], func() bool {
			entries, err := runtimetest.ParseLedger([]byte(pl.read(filepath.Base(agent.Ledger))))
			return err == nil && slices.ContainsFunc(entries, func(e runtimetest.Entry) bool {
				return e.Kind == runtimetest.LedgerPrompt && e.Is(prompts[i])
			})
		})
	}
	prompt(0)
	for i := range prompts[1:] {
		out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text(prompts[i+1])})
		if out.State != runtime.OutcomeUnconfirmed || err != nil {
			t.Errorf("Deliver = %+v, %v, want unconfirmed", out, err)
		}
		prompt(i + 1)
	}
	if err := p.SendKeys("one", "-", ";", "x", "Enter"); err != nil {
		t.Error(err)
	}
	prompts = append(prompts, "-;x")
	prompt(len(prompts) - 1)
	until(t, "a peek with the first prompt", func() bool {
		out, err := p.Peek("one", 0)
		return err == nil && strings.Contains(out, "first") && !strings.Contains(out, "plain peek")
	})
	for what, err := range map[string]error{"Interrupt": p.Interrupt("one"), "ClearScrollback": p.ClearScrollback("one")} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, code, err := p.Exec(t.Context(), "one", []string{"sh", "-c", "exit 2"}); code != 2 || err != nil {
		t.Errorf("Exec = %d, %v, want the command's exit code 2", code, err)
	}
	for _, call := range pl.calls("exec") {
		if call != "one" {
			t.Errorf("the argument of exec is %q", call)
		}
	}
}

// A tmux session "main" of a person on this machine is not changed.
func TestCarrierIgnoresOtherSessions(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, "OWNER=somebody\n"+box)
	p := pl.open()
	pl.write("command", "cat > "+filepath.Join(pl.dir, "typed"))
	pl.start(p, "one")
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
	})
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("x")})
	if out.State != runtime.OutcomeUnsupported || err != nil {
		t.Errorf("Deliver = %+v, %v, want unsupported: the script has no nudge", out, err)
	}
	if got, err := p.Peek("one", 0); got != "plain peek" || err != nil {
		t.Errorf("Peek = %q, %v, want the plain operation's", got, err)
	}
	<-time.After(10 * time.Millisecond)
	if got := pl.read("typed"); got != "" {
		t.Errorf("%q was typed", got)
	}
}

// TestPeekShowsLineDrawing: what gc reads from the tmux session of a sandbox has lines, not letters, and no control sequences.
func TestPeekShowsLineDrawing(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, box)
	p := pl.open()
	pl.write("command", `printf '\033(0lqk\033(B lqk\n\033[1;31mmqj\n\033(0x\033[0mx\n'; exec cat`)
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
	})
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c"}); err != nil {
		t.Fatal(err)
	}
	const want = "┌─┐ lqk\nmqj\n││"
	var got string
	until(t, "the program has printed", func() bool {
		text, err := p.Peek("one", 0)
		got = text
		return err == nil && strings.Contains(text, "mqj\n")
	})
	if got != want {
		t.Errorf("Peek = %q, want %q", got, want)
	}
}
