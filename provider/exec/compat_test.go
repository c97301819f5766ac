package exec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/provider/exec"
	"gascity/runtime"
)

// published are the operations that a script without a handshake may get, and the handshake itself.
var published = []string{
	"start", "stop", "interrupt", "is-running", "attach", "process-alive", "nudge", "send-keys", "set-meta", "get-meta", "remove-meta", "peek",
	"clear-scrollback", "list-running", "get-last-activity", "copy-to", "protocol",
}

// TestOldWire checks the protocol of scripts that were written for the existing
// implementation: how they are called, and what their results mean.
func TestOldWire(t *testing.T) {
	t.Parallel()
	const running = `is-running) echo true ;; `
	tests := map[string]struct {
		does string // the rows of its case
		try  func(t *testing.T, pl *scriptFixture, p *exec.Provider)
	}{
		"line ends after an answer": {`is-running) printf 'true\n\n' ;; process-alive) cat >/dev/null; printf 'true\r\n\n' ;; peek) printf 'a\nb\n\n\n' ;;
			list-running) printf 'one\n\n' ;; get-meta) printf 'v\n' ;; get-last-activity) printf '2026-03-19T10:20:30+01:00\n\n' ;;`, func(t *testing.T, _ *scriptFixture, p *exec.Provider) {
			if !p.IsRunning("one") || !p.ProcessAlive("one", []string{"x"}) {
				t.Error("it is not said to run")
			}
			if got, err := p.Peek("one", 0); got != "a\nb" || err != nil {
				t.Errorf("Peek = %q, %v", got, err)
			}
			if got, err := p.ListRunning(""); !slices.Equal(got, []string{"one"}) || err != nil {
				t.Errorf("ListRunning = %q, %v", got, err)
			}
			if got, err := p.GetMeta("one", "k"); got != "v" || err != nil {
				t.Errorf("GetMeta = %q, %v", got, err)
			}
			if got, err := p.GetLastActivity("one"); !got.Equal(time.Date(2026, 3, 19, 9, 20, 30, 0, time.UTC)) || err != nil {
				t.Errorf("GetLastActivity = %v, %v", got, err)
			}
		}},
		"empty is unknown": {running + `process-alive | get-last-activity | get-meta) : ;;`, func(t *testing.T, _ *scriptFixture, p *exec.Provider) {
			if !p.ProcessAlive("one", []string{"x"}) {
				t.Error("an empty answer says that the process is dead, while the session runs")
			}
			if at, err := p.GetLastActivity("one"); !at.IsZero() || err != nil {
				t.Errorf("GetLastActivity = %v, %v", at, err)
			}
			if value, err := p.GetMeta("one", "k"); value != "" || err != nil {
				t.Errorf("GetMeta = %q, %v", value, err)
			}
		}},
		"process names": {running + `process-alive) cat > "$D/names"; echo false ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			if p.ProcessAlive("one", []string{"claude", "node"}) || pl.read("names") != "claude\nnode\n" {
				t.Errorf("the names are %q, want one in each line", pl.read("names"))
			}
			if !p.ProcessAlive("one", nil) || len(pl.calls("process-alive")) != 1 {
				t.Errorf("the calls are %q, want none without names", pl.calls("process-alive"))
			}
		}},
		"arguments": {running + `peek) echo x ;; send-keys | copy-to | interrupt | clear-scrollback | remove-meta) : ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			src := filepath.Join(pl.dir, "script")
			err := errors.Join(errorOf(p.Peek("one", 0)), errorOf(p.Peek("one", 7)), p.SendKeys("one", "Down", "Enter"), p.CopyTo("one", src, "sub/f"),
				p.Interrupt("one"), p.ClearScrollback("one"), p.RemoveMeta("one", "k"))
			for op, want := range map[string][]string{
				"peek": {"one 0", "one 7"}, "send-keys": {"one Down Enter"}, "copy-to": {"one " + src + " sub/f"}, "interrupt": {"one"}, "clear-scrollback": {"one"}, "remove-meta": {"one k"},
			} {
				if got := pl.calls(op); !slices.Equal(got, want) {
					t.Errorf("%s was called with %q, want %q", op, got, want)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}},
		"no empty prompt": {running + `nudge) cat >/dev/null ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			if err := errors.Join(p.Nudge("one", text("")), p.SendKeys("one")); err != nil || len(pl.calls("nudge"))+len(pl.calls("send-keys")) > 0 {
				t.Errorf("%v after %q, want no call for nothing", err, pl.read("calls"))
			}
		}},
		"a value": {running + `set-meta) cat > "$D/value" ;; get-meta) cat "$D/value" ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			const value = " it's \"a\" $(value)\nof two lines"
			if err := p.SetMeta("one", "k", value); err != nil || pl.read("value") != value || !slices.Equal(pl.calls("set-meta"), []string{"one k"}) {
				t.Errorf("the script got %q after %q, %v", pl.read("value"), pl.calls("set-meta"), err)
			}
			if got, err := p.GetMeta("one", "k"); got != value || err != nil {
				t.Errorf("GetMeta = %q, %v", got, err)
			}
		}},
		"gone is no failure": {`is-running) echo false ;; stop | interrupt | nudge) cat >/dev/null ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			if err := errors.Join(p.Stop("one"), p.Stop("one"), p.Interrupt("one")); err != nil || len(pl.calls("stop")) != 2 {
				t.Errorf("%v after %q", err, pl.calls("stop"))
			}
		}},
		"a failure has its words": {running + `interrupt) echo 'no such window' >&2; exit 1 ;;`, func(t *testing.T, _ *scriptFixture, p *exec.Provider) {
			if err := p.Interrupt("one"); err == nil || !strings.Contains(err.Error(), "no such window") || !strings.Contains(err.Error(), "script ./script interrupt") {
				t.Errorf("Interrupt = %v", err)
			}
		}},
		"a cut wins": {running + `interrupt) : ;; nudge) trap 'exit 0' TERM; cat >/dev/null; : > "$D/began"; while :; do sleep 0.05; done ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for _, err := os.Stat(filepath.Join(pl.dir, "began")); err != nil && ctx.Err() == nil; _, err = os.Stat(filepath.Join(pl.dir, "began")) {
					<-time.After(5 * time.Millisecond)
				}
				cancel()
			}()
			out, err := p.Deliver(ctx, "one", runtime.Delivery{Content: text("x")})
			if out.State != runtime.OutcomeUnconfirmed || !errors.Is(err, context.Canceled) {
				t.Errorf("Deliver = %+v, %v, want what was accepted, a cut, not the script's exit code 0", out, err)
			}
		}},
		"input that is not read": {`start) : > "$D/up" ;; is-running) [ -e "$D/up" ] && echo true || echo false ;; set-meta) : ;;`, func(t *testing.T, _ *scriptFixture, p *exec.Provider) {
			if err := p.Start(t.Context(), "one", runtime.Config{Command: strings.Repeat("x", 1<<20)}); err != nil {
				t.Error(err)
			}
		}},
		"attachment needs a handshake": {running + `is-attached) echo true ;;`, func(t *testing.T, pl *scriptFixture, p *exec.Provider) {
			if p.IsAttached("one") || len(pl.calls("is-attached")) > 0 {
				t.Errorf("it was asked: %q", pl.calls("is-attached"))
			}
		}},
		"its variables": {running + `get-meta) printf '%s|%s|%s' "$GC_EXEC_STATE_DIR" "$OWN" "$PWD" ;;`, func(t *testing.T, pl *scriptFixture, _ *exec.Provider) {
			p := pl.open(func(c *exec.Config) {
				c.StateDir = filepath.Join(pl.dir, "other")
				c.Env = append(c.Env, "GC_EXEC_STATE_DIR=/the/user's", "OWN=1")
			})
			if got, err := p.GetMeta("one", "k"); got != "/the/user's|1|"+pl.dir || err != nil {
				t.Errorf("it sees %q, %v", got, err)
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, "case \"$op\" in\n"+tt.does+"\n*) exit 2 ;;\nesac")
			tt.try(t, pl, pl.open())
		})
	}
}

// A script without a handshake gets only published operations.
func TestOldScriptGetsOnlyPublishedOperations(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, fleet)
	p := pl.open()
	accept := true
	cfg := runtime.Config{
		Command: "agent", WorkDir: pl.dir, Lifecycle: "", ProviderName: imitated(t), ReadyPromptPrefix: "> ", Nudge: "hello", ProcessNames: []string{"agent"},
		AcceptStartupDialogs: &accept, SessionLive: []string{"true"},
	}
	if err := p.Start(t.Context(), "one", cfg); err != nil {
		t.Fatal(err)
	}
	obs, err := p.Observe(t.Context(), "one")
	if err != nil || obs.Session != runtime.Alive {
		t.Errorf("Observe = %+v, %v", obs, err)
	}
	for what, err := range map[string]error{
		"deliver":   errorOf(p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("x"), Instance: obs.InstanceToken})),
		"settle":    errorOf(p.Settle(t.Context(), "one", runtime.Delivery{Content: text("x")})),
		"sense":     errorOf(p.Sense(t.Context(), "one")),
		"pending":   errorOf(p.Pending("one")),
		"activity":  errorOf(p.GetLastActivity("one")),
		"clear":     p.ClearScrollback("one"),
		"list":      errorOf(p.ListRunning("")),
		"interrupt": p.InterruptInstance(t.Context(), "one", obs.InstanceToken),
		"stop":      p.StopInstance(t.Context(), "one", obs.InstanceToken),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := p.RunLive("one", cfg); err == nil {
		t.Error("RunLive = nil, and nothing was run")
	}
	for line := range strings.Lines(pl.read("calls")) {
		if op, _, _ := strings.Cut(strings.TrimSpace(line), " "); !slices.Contains(published, op) {
			t.Errorf("it is called with the operation %q", op)
		}
	}
}

// A one-shot session is only started: no wait for readiness, no first prompt.
func TestOneShotOfAScript(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, fleet)
	cfg := runtime.Config{Command: "job", Lifecycle: runtime.LifecycleOneShot, ReadyPromptPrefix: "> ", ReadyDelayMs: 60_000, ProcessNames: []string{"job"}}
	if err := pl.open().Start(t.Context(), "one", cfg); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Lifecycle string }
	if err := json.Unmarshal([]byte(pl.read("one.start")), &doc); err != nil || doc.Lifecycle != "one_shot" || len(pl.calls("peek")) > 0 {
		t.Errorf("lifecycle %q, %v, peeks %q", doc.Lifecycle, err, pl.calls("peek"))
	}
}

// separable is a script that makes a box without an agent. gc starts the agent in the tmux of the box. A start
// by the script would make the box a second time.
const separable = `T="$D/t"
tm() { TMUX_TMPDIR="$T" TMUX= tmux -f /dev/null "$@"; }
case "$op" in
protocol) echo '{"version": 0, "capabilities": ["proc.exec", "proc.provision"]}' ;;
provision) cat > "$D/doc"; mkdir -p "$T" ;;
start) echo "the box is already in use" >&2; exit 1 ;;
stop) tm kill-server 2>/dev/null; rm -rf "$T"; exit 0 ;;
is-running) tm has-session -t =main 2>/dev/null && echo true || echo false ;;
exec) [ -d "$T" ] || { echo no box >&2; exit 1; }; cd "$D"; TMUX_TMPDIR="$T" TMUX= PATH="${BOXPATH-$PATH}" /bin/sh ;;
*) exit 2 ;;
esac
`

func TestProvisionedBox(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, separable)
	p := pl.open()
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
	})
	cfg := runtime.Config{Command: "echo \"it's up\"; while read -r line; do printf '%s\\n' \"$line\" >> typed; done", ReadyPromptPrefix: "it's up", Nudge: "hello"}
	if err := p.Start(t.Context(), "one", cfg); err != nil {
		t.Fatal(err)
	}
	until(t, "the first prompt", func() bool { return pl.read("typed") == "hello\n" })
	if got := pl.calls("start"); len(got) > 0 || !strings.Contains(pl.read("doc"), `"command"`) || strings.Contains(pl.read("calls"), "it's up") {
		t.Errorf("start was called %d times, the document is %s, the calls are\n%s", len(got), pl.read("doc"), pl.read("calls"))
	}
	if err := p.Start(t.Context(), "one", cfg); !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("a second Start = %v, want ErrSessionExists", err)
	}
}

// If the box has no tmux, the script starts the agent. A box whose agent cannot be started is removed.
func TestProvisionedBoxWithoutTmux(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, "BOXPATH=/nowhere\n"+separable)
	if err := pl.open().Start(t.Context(), "one", runtime.Config{Command: "c"}); err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("Start = %v, want what the script's start says", err)
	}
	if len(pl.calls("start")) != 1 || len(pl.calls("stop")) != 1 {
		t.Errorf("the calls are\n%swant one start and, since the box was made, one stop", pl.read("calls"))
	}
}

// A tmux session "main" of a person belongs to no box.
func TestProvisionedBoxIgnoresOtherSessions(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	pl := newScriptFixture(t, strings.Replace(separable, `mkdir -p "$T"`, `mkdir -p "$T"; tm new-session -d -s main 'echo mine; exec cat'`, 1))
	pl.write("script", strings.Replace(pl.read("script"), "is-running) tm", "is-running) [ -e \"$D/never\" ] && tm", 1))
	p := pl.open()
	err := p.Start(t.Context(), "one", runtime.Config{Command: "echo taken"})
	if err == nil || !strings.Contains(err.Error(), "gc did not create") {
		t.Errorf("Start = %v, want a refusal", err)
	}
}

// The meaning of 0 lines was not published. A script that passes the number to tail prints none.
func TestOldScriptsMayReadZeroLinesAsNone(t *testing.T) {
	t.Parallel()
	p := newScriptFixture(t, `case "$op" in is-running) echo true ;; peek) printf 'a\nb\n' | tail -n "$3" ;; *) exit 2 ;; esac`).open()
	for lines, want := range map[int]string{0: "a\nb", 1: "b"} {
		if got, err := p.Peek("one", lines); got != want || err != nil {
			t.Errorf("Peek(%d) = %q, %v, want %q", lines, got, err, want)
		}
	}
}
