package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/provider/tmux"
	"gascity/runtime"
)

func of(r runtime.Reading, source runtime.Source) runtime.Activity {
	for _, e := range r.Evidence {
		if e.Source == source {
			return e.Activity
		}
	}
	return ""
}

// sense reads until ok is true.
func (a *agent) sense(what string, ok func(runtime.Reading) bool) runtime.Reading {
	a.t.Helper()
	for end := time.Now().Add(limit); ; {
		r, err := runtime.Sense(a.t.Context(), a.Provider, a.name)
		if err != nil {
			a.t.Fatal(err)
		}
		if ok(r) {
			return r
		}
		if time.Now().After(end) {
			a.t.Fatalf("%s: %+v, pending %+v", what, r.Evidence, r.Pending)
		}
	}
}

// A status that a program sends to its terminal is read through tmux, and is known to the next process.
func TestSenseFollowsATurn(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	a := r.start("s", "claude", "--osc7501 --osc9 --osc133")
	says := func(status, progress, mark, screen runtime.Activity) func(runtime.Reading) bool {
		return func(r runtime.Reading) bool {
			return of(r, runtime.SourceStatus) == status && of(r, runtime.SourceProgress) == progress && of(r, runtime.SourceMark) == mark && of(r, runtime.SourceScreen) == screen
		}
	}
	resting := says(runtime.ActivityIdle, "", runtime.ActivityReady, runtime.ActivityIdle)
	a.sense("idle", resting)
	a.prompt("[[busy:1500ms]]")
	a.sense("busy", says(runtime.ActivityBusy, runtime.ActivityBusy, runtime.ActivityBusy, runtime.ActivityBusy))
	a.wait(ledger.Answered, 1)
	a.sense("idle again", resting)
	until(t, "what was received is noted", func() bool {
		return r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_paste}") == "1" && r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_signs}") != ""
	})
	next, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	adopted := &agent{&testCity{next, t, r.dir}, "s", a.file}
	until(t, "the next process knows it, too", func() bool {
		reading, err := next.Sense(t.Context(), "s")
		return err == nil && of(reading, runtime.SourceStatus) == runtime.ActivityIdle && resting(reading)
	})
	adopted.prompt("of two\nlines") // the agent supports bracketed paste
	a.wantPrompts("[[busy:1500ms]]", "of two\nlines")
}

// A program that asks whether its reports are read gets one answer, although several processes read them.
func TestReportsAreAnswered(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	second, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	file := filepath.Join(r.dir, "answer")
	r.shell("s", `stty raw -echo; printf '\033]7501;?\033\\'; dd bs=1 count=9 of=`+file+` 2>/dev/null; stty sane; echo done; exec cat`, nil)
	if _, err := second.ListRunning(""); err != nil {
		t.Fatal(err)
	}
	until(t, "an answer comes", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && string(data) == "\x1b]7501;?\x1b"
	})
	until(t, "it goes on", func() bool { text, err := r.Peek("s", 0); return err == nil && strings.Contains(text, "done") })
}

// Every listener gets the event of a crash within 0.1 s.
func TestCrashIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	events, err := r.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.dir, "at")
	r.shell("s", "sleep 0.5; date +%s%N > "+file+"; exit 3", nil)
	for e := range events {
		if e.Kind != runtime.EventExited {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil || e.Exit == nil || e.Exit.Code != 3 {
			t.Fatalf("%+v, %v", e, err)
		}
		var at int64
		if _, err := fmt.Sscan(string(data), &at); err != nil {
			t.Fatal(err)
		}
		t.Logf("reported after %s", e.Time.Sub(time.Unix(0, at)))
		return
	}
}

// Another process that opens the city finds its sessions, tokens and metadata; names that
// have the same prefix are not mixed up.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	names := []string{"worker-1", "worker-10", "worker-1x", "worker", "Worker"}
	tokens := map[string]string{}
	for _, name := range names {
		r.start(name, "", "")
		if err := r.SetMeta(name, "who", name); err != nil {
			t.Fatal(err)
		}
		obs, err := r.Observe(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = obs.InstanceToken
	}
	next, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	got, err := next.ListRunning("")
	slices.Sort(names)
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("ListRunning = %q, %v", got, err)
	}
	for _, name := range names {
		obs, err := next.Observe(t.Context(), name)
		who, metaErr := next.GetMeta(name, "who")
		if err != nil || metaErr != nil || obs.InstanceToken != tokens[name] || obs.Agent != runtime.Alive || who != name {
			t.Errorf("%s: %s, is %q: %v, %v", name, obs.Agent, who, err, metaErr)
		}
		a := &agent{&testCity{next, t, r.dir}, name, filepath.Join(r.dir, name+".ledger")}
		a.prompt("for " + name)
		a.wantPrompts("for " + name)
	}
	if err := next.Stop("worker-1"); err != nil {
		t.Fatal(err)
	}
	if left, err := r.ListRunning("worker-1"); err != nil || !slices.Equal(left, []string{"worker-10", "worker-1x"}) {
		t.Errorf("after the stop of worker-1 there are %q, %v", left, err)
	}
}

// The raw output is saved, and stays after the session and the server.
func TestRawOutputIsKept(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	r.shell("s", "printf 'first \\033[31mred\\033[m\\n'; sleep 0.3; echo last; exec cat", nil)
	until(t, "it is in the log", func() bool {
		data, err := os.ReadFile(filepath.Join(r.dir, "log", "s.log"))
		return err == nil && strings.Contains(string(data), "first \x1b[31mred\x1b[m\r\nlast\r\n")
	})
}

// Fifty sessions that print all the time do not delay prompts for long.
func TestFloodDelaysNoPrompt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the whole machine")
	}
	needsTmux(t)
	if before(t, "3.2") {
		t.Skip("this tmux cannot pause panes: a flood that is read delays everything")
	}
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.LogDir = "" })
	a := r.start("quiet", "claude", "")
	a.prompt("before the flood")
	timed := func(text string) time.Duration {
		began := time.Now()
		a.prompt(text)
		return time.Since(began)
	}
	alone := timed("alone")
	floods := 16
	if n, err := strconv.Atoi(os.Getenv("GC_TEST_FLOODS")); err == nil {
		floods = n
	}
	for n := range floods {
		r.shell(fmt.Sprintf("flood-%d", n), "while :; do echo the quick brown fox jumps over the lazy dog; done", nil)
	}
	var during []time.Duration
	for n := range 5 {
		during = append(during, timed(fmt.Sprintf("in the flood %d", n)))
	}
	slices.Sort(during)
	var process []time.Duration // the time of the server itself
	for range 9 {
		began := time.Now()
		r.runTmux("display-message", "-p", "#{pid}")
		process = append(process, time.Since(began))
	}
	slices.Sort(process)
	t.Logf("a prompt takes %s alone, in the flood %s (all: %s); one process of tmux that asks takes %s in it", alone, during[2], during, process[4])
	if during[2] > max(5*time.Second, 20*process[4]) { // a loaded machine is slow with everything
		t.Errorf("a prompt takes %s in the flood", during[2])
	}
	a.wantPrompts("before the flood", "alone", "in the flood 0", "in the flood 1", "in the flood 2", "in the flood 3", "in the flood 4")
}

// A program enables bracketed paste once, at its start. Each later process knows it, also one that got another
// event first.
func TestBracketsAreRemembered(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	noted := func(option string) string { return r.runTmux("display-message", "-p", "-t", "=s:", "#{@"+option+"}") }
	file := filepath.Join(r.dir, "go")
	r.shell("s", `stty raw -echo; printf '\033[?2004h'; until [ -e '`+file+`' ]; do sleep 0.1; done
		while :; do printf '\033]7501;status=working\033\\'; sleep 0.1; printf '\033]7501;status=idle\033\\'; sleep 0.1; done`, nil)
	until(t, "it is noted though nothing comes after it", func() bool { return noted("gc_paste") == "1" })
	signs := noted("gc_signs")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	r.Provider = next
	if err := os.WriteFile(file, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the status is noted", func() bool {
		_, err := next.ListRunning("")
		return err == nil && noted("gc_signs") != signs
	})
	if paste := noted("gc_paste"); paste != "1" {
		t.Errorf("it is forgotten that the program takes brackets: %q", paste)
	}
}
