package exec_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

var local runtimetest.Local

func TestOpenRefusesFilesThatAreNoScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"./missing": fs.ErrNotExist, "missing-on-path": fs.ErrNotExist, "./plain": fs.ErrPermission, "./folder": nil, "": nil} {
		_, err := exec.Open(exec.Config{Script: name, Dir: dir, Env: baseEnv()})
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%q) = %v, want an error that names it and matches %v", name, err, want)
		}
	}
}

func TestScriptIsFoundOnPathAndInTheCity(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, fleet)
	for _, edit := range []func(*exec.Config){
		func(c *exec.Config) { c.Script = "script"; c.Env = append(c.Env, "PATH="+pl.dir+":/bin:/usr/bin") },
		func(c *exec.Config) { c.Script = filepath.Join(pl.dir, "script"); c.Dir = "/" },
		func(*exec.Config) {},
	} {
		pl.start(pl.open(edit), "one")
		if err := pl.open().Stop("one"); err != nil {
			t.Error(err)
		}
	}
}

func TestScriptVanishes(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, fleet)
	p := pl.open()
	pl.start(p, "one")
	if err := os.Remove(filepath.Join(pl.dir, "script")); err != nil {
		t.Fatal(err)
	}
	obs, err := p.Observe(t.Context(), "two")
	if !errors.Is(err, runtime.ErrRuntimeUnavailable) || obs.Session != runtime.Unknown {
		t.Errorf("Observe = %v, %v, want unknown and ErrRuntimeUnavailable", obs.Session, err)
	}
	if names, err := p.ListRunning(""); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("ListRunning = %q, %v, want ErrRuntimeUnavailable", names, err)
	}
	if err := p.Stop("one"); err == nil || runtime.IsSessionGone(err) {
		t.Errorf("Stop = %v, want an error that does not say that it is gone", err)
	}
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("x")})
	if out.State != runtime.OutcomeRefused {
		t.Errorf("Deliver = %+v, %v, want refused: not a byte was sent", out, err)
	}
}

// A script that hangs is killed with its process group, also if it and its children ignore signals and keep the
// output open.
func TestScriptHangs(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"listens": "", "does not listen": "trap '' TERM HUP INT\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, `case "$op" in protocol) exit 2;; is-running) echo true;; peek) `+trap+
				`sh -c 'echo $$ >> "$1/pids"; sleep 300; :' - "$D" &
				echo $$ >> "$D/pids"; echo some words >&2; sleep 300; sleep 300;; *) exit 2;; esac`)
			p := pl.open(limit(time.Second))
			began := time.Now()
			_, err := p.Peek("one", 0)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "some words") {
				t.Errorf("Peek = %v, want the deadline and what the script said", err)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			pl.waitExited("pids", 2)
		})
	}
}

func TestScriptPrintsGarbage(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"version": -1, "capabilities": 7}' ;;
is-running|list-running|process-alive|get-last-activity) printf 'Error: \377 no such\tthing\n' ;;
start) exit 0 ;;
*) exit 2 ;;
esac`)
	p := pl.open()
	if p.Capabilities() != (runtime.ProviderCapabilities{}) {
		t.Errorf("Capabilities = %+v, want none", p.Capabilities())
	}
	obs, err := p.Observe(t.Context(), "one")
	if !errors.Is(err, runtime.ErrRuntimeUnavailable) || obs.Session != runtime.Unknown || obs.Agent != runtime.Unknown {
		t.Errorf("Observe = %+v, %v, want unknown", obs, err)
	}
	if p.IsRunning("one") || p.ProcessAlive("one", []string{"agent"}) {
		t.Errorf("what is unknown is said to run")
	}
	if names, err := p.ListRunning(""); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("ListRunning = %q, %v, want ErrRuntimeUnavailable", names, err)
	}
	if at, err := p.GetLastActivity("one"); !at.IsZero() || err != nil {
		t.Errorf("GetLastActivity = %v, %v, want nothing", at, err)
	}
	if err := p.Start(t.Context(), "one", runtime.Config{}); !errors.Is(err, runtime.ErrRuntimeUnavailable) || len(pl.calls("start")) > 0 {
		t.Errorf("Start = %v after %q, want no start while it is unknown what runs", err, pl.calls("start"))
	}
}

// A listing has sessions of other users of the same script.
func TestListRunningIgnoresOtherSessions(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in list-running) printf 'mayor\nworker-1\n1234.pts-0.host\nmayor\n\nworker-10\n' ;; *) exit 2 ;; esac`)
	names, err := pl.open().ListRunning("")
	if got := strings.Join(names, " "); got != "mayor worker-1 worker-10" || err != nil {
		t.Errorf("ListRunning = %q, %v", got, err)
	}
}

func TestScriptPrintsTooMuch(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
get-meta) echo $$ > "$D/pids"; yes 'a line of thirty-two characters' | head -c 1073741824; echo done > "$D/done" ;;
is-running) yes >&2 | head -c 1000; yes 'an error' | head -c 67108864 >&2; echo true ;;
*) exit 2 ;; esac`)
	p := pl.open()
	if value, err := p.GetMeta("one", "key"); err == nil || len(value) > 0 || pl.read("done") != "" {
		t.Errorf("GetMeta of 1 GiB = %d bytes, %v, want an error before its end", len(value), err)
	}
	pl.waitExited("pids", 1)
}

// With any sizes and any order of reads and writes no call deadlocks, and a text that was read is complete.
func TestLargeInput(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"reads":                "cat > \"$D/got\"",
		"writes, then reads":   "head -c 3000000 /dev/zero; cat > \"$D/got\"",
		"reads a byte at once": "dd bs=65536 of=\"$D/got\" 2>/dev/null; head -c 100000 /dev/zero >&2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; nudge) `+body+` ;; *) exit 2 ;; esac`)
			p := pl.open()
			for _, size := range []int{1, 1 << 16, 1<<16 + 1, 1 << 20, 10 << 20} {
				want := strings.Repeat("0123456789abcde\n", size/16+1)[:size]
				out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text(want)})
				if out.State != runtime.OutcomeUnconfirmed || err != nil {
					t.Errorf("Deliver of %d bytes = %+v, %v, want unconfirmed", size, out, err)
				}
				if got := pl.read("got"); got != want {
					t.Errorf("%d bytes arrived, want %d", len(got), size)
				}
			}
		})
	}
}

func TestScriptClosesItsInputEarly(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; nudge) exec <&-; exit 0 ;; *) exit 2 ;; esac`)
	out, err := pl.open().Deliver(t.Context(), "one", runtime.Delivery{Content: text(strings.Repeat("x", 10<<20))})
	if out.State != runtime.OutcomeUnconfirmed || err != nil || !strings.Contains(out.Detail, "before it had read") {
		t.Errorf("Deliver = %+v, %v, want unconfirmed because it was not read", out, err)
	}
}

// A child that keeps the output open does not delay the call. Processes that a query leaves are killed.
// Processes that a start leaves are the session.
func TestScriptLeavesChildren(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
start) cat >/dev/null; : > "$D/up"; (echo started; exec sleep 300) & echo $! > "$D/agent" ;;
is-running) [ -e "$D/up" ] && echo true || echo false; sleep 300 & echo $! >> "$D/asked" ;;
stop) rm -f "$D/up"; kill "$(cat "$D/agent")" 2>/dev/null; exit 0 ;;
*) exit 2 ;; esac`)
	p := pl.open()
	began := time.Now()
	pl.start(p, "one")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("Start took %v", took)
	}
	pl.waitExited("asked", 1)
	agent := pl.pids("agent", 1)[0]
	if !alive(agent) {
		t.Errorf("the agent was killed with its start")
	}
	if err := p.Stop("one"); err != nil {
		t.Error(err)
	}
	pl.waitExited("agent", 1)
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	const row = `case "$op" in protocol) %s ;; *) exit 2 ;; esac`
	tests := map[string]struct {
		body   string
		fails  bool
		stream bool
	}{
		"exit 2":        {body: "exit 2"},
		"fails":         {body: "echo usage >&2; exit 1"},
		"nothing":       {body: "exit 0"},
		"no JSON":       {body: "echo hello"},
		"later version": {body: `echo '{"version": 9, "capabilities": ["watch"]}'`},
		"unknown words": {body: `echo '{"version": 0, "capabilities": ["proc.stream", "env.workspace", "watch"], "more": {}}'`, stream: true},
		"no version":    {body: `echo '{"capabilities": ["watch"]}'`, stream: true},
		"hangs":         {body: "echo still thinking >&2; sleep 300", fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, strings.Replace(row, "%s", tt.body, 1))
			cfg := pl.config()
			if tt.fails {
				cfg.Handshake = time.Second
			}
			p, err := exec.Open(cfg)
			if tt.fails {
				if err == nil || !strings.Contains(err.Error(), "still thinking") {
					t.Errorf("Open = %v, want an error with what the script said", err)
				}
				return
			}
			if err != nil || p.Capabilities().CanStream != tt.stream {
				t.Errorf("Open = %v, streams %v, want %v", err, p.Capabilities().CanStream, tt.stream)
			}
			if n := len(pl.calls("protocol")); n != 1 {
				t.Errorf("the handshake was asked for %d times, want once", n)
			}
		})
	}
}

// The controller is killed, or cancels, during a nudge.
func TestNudgeIsCutOff(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; nudge) head -c 3 > "$D/got"; sleep 300 ;; *) exit 2 ;; esac`)
	p := pl.open()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for pl.read("got") == "" && t.Context().Err() == nil {
			<-time.After(5 * time.Millisecond)
		}
		cancel()
	}()
	out, err := p.Deliver(ctx, "one", runtime.Delivery{Content: text("a prompt")})
	if out.State != runtime.OutcomeUnconfirmed || !errors.Is(err, context.Canceled) {
		t.Errorf("Deliver = %+v, %v, want unconfirmed: the script has read a part", out, err)
	}
	if out, err := p.Settle(t.Context(), "one", runtime.Delivery{Content: text("a prompt")}); out.State != runtime.OutcomeUnconfirmed || out.Reason != "" || err != nil {
		t.Errorf("Settle = %+v, %v, want unconfirmed for good", out, err)
	}
	if out, err := p.Deliver(ctx, "one", runtime.Delivery{Content: text("a prompt")}); out.State != runtime.OutcomeRefused || err == nil {
		t.Errorf("Deliver with a dead ctx = %+v, %v, want refused", out, err)
	}
}

func TestScriptIsKilledByOthers(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; nudge) cat >/dev/null; kill -9 $$ ;; *) exit 2 ;; esac`)
	out, err := pl.open().Deliver(t.Context(), "one", runtime.Delivery{Content: text("a prompt")})
	if out.State != runtime.OutcomeUnconfirmed || err == nil {
		t.Errorf("Deliver = %+v, %v, want unconfirmed and an error", out, err)
	}
}

// The time limit of a call does not include its wait for other calls of the session.
func TestTimeLimitOfANudgeStartsAfterTheQueue(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, "[ \"$op\" != peek ] || exec echo working\n"+fleet)
	const short = 2 * time.Second
	p := pl.open(limit(short))
	pl.start(p, "one")
	ctx, cancel := context.WithTimeout(t.Context(), 5*short) // longer than the limit of a nudge
	defer cancel()
	held, nudged := make(chan error, 1), make(chan error, 1)
	go func() { held <- p.DismissKnownDialogs(ctx, "one", time.Hour) }()
	until(t, "the input is held", func() bool { return len(pl.calls("peek")) > 0 })
	go func() { nudged <- p.Nudge("one", text("x")) }()
	if err := <-held; !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the input was held until %v, want longer than a nudge has", err)
	}
	if err := <-nudged; err != nil {
		t.Errorf("Nudge = %v, want nil", err)
	}
}
