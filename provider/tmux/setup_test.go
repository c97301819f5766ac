package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/internal/fakeagent/ledger"
	"gascity/provider/tmux"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

// limit is the longest wait of a test for a condition.
const limit = 30 * time.Second

// testCity is a city of fake agents.
type testCity struct {
	*tmux.Provider
	t   *testing.T
	dir string
}

func newTestCity(t *testing.T, change ...func(*tmux.Config)) *testCity {
	t.Helper()
	needsTmux(t)
	dir, err := os.MkdirTemp("", "gctm") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(dir)
	for _, c := range change {
		c(&cfg)
	}
	p, err := tmux.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &testCity{p, t, dir}
	t.Cleanup(func() {
		names, err := r.ListRunning("")
		for _, name := range names {
			err = errors.Join(err, r.Stop(name))
		}
		if err := errors.Join(err, r.TeardownServer(), r.Close(), serverless(dir)); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return r
}

// agent is one fake agent with its ledger.
type agent struct {
	*testCity
	name, file string
}

// start starts a fake agent with the rules of the agent CLI.
func (r *testCity) start(name, provider, flags string) *agent {
	r.t.Helper()
	a := &agent{r, name, filepath.Join(r.dir, name+".ledger")}
	err := r.Start(r.t.Context(), name, runtime.Config{
		Command: fmt.Sprintf("exec %s --ledger %s --max-life 5m %s", build.Build(r.t), a.file, flags),
		WorkDir: r.dir, ProviderName: provider, ReadyPromptPrefix: "❯ ",
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// shell starts a command.
func (r *testCity) shell(name, command string, env map[string]string) {
	r.t.Helper()
	if err := r.Start(r.t.Context(), name, runtime.Config{Command: command, WorkDir: r.dir, Env: env}); err != nil {
		r.t.Fatal(err)
	}
}

// prompt delivers the text. A refused text is not in the input box and is sent again, because a loaded machine
// may show an echo late.
func (a *agent) prompt(text string) {
	a.t.Helper()
	for end := time.Now().Add(limit); ; {
		out, err := a.Deliver(a.t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent(text)})
		switch {
		case err == nil && out.State == runtime.OutcomeSubmitted:
			return
		case err != nil || out.State != runtime.OutcomeRefused || time.Now().After(end):
			a.t.Fatalf("%+v, %v", out, err)
		}
		a.t.Logf("refused: %+v", out)
	}
}

func (a *agent) wait(kind string, n int) []ledger.Record {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), limit)
	defer cancel()
	records, err := ledgertest.Wait(ctx, a.file, ledgertest.Has(kind, n))
	if err != nil {
		a.t.Fatal(err)
	}
	return ledger.Of(records, kind)
}

// wantPrompts fails unless the agent accepted exactly these texts, in order.
func (a *agent) wantPrompts(texts ...string) {
	a.t.Helper()
	var got, want []string
	for _, r := range a.wait(ledger.Prompt, len(texts)) {
		got = append(got, fmt.Sprintf("%d bytes %.8s", r.Bytes, r.SHA256))
	}
	for _, text := range texts {
		want = append(want, fmt.Sprintf("%d bytes %.8s", len(text), ledger.Sum(text)))
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("the agent took %q, want %q", got, want)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// runTmux runs a tmux command on the city's server, as a person may.
func (r *testCity) runTmux(args ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), "tmux", append([]string{"-S", filepath.Join(r.dir, "tmux", "s")}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// fits waits until the terminal of the program has the size. tmux knows it first, and before 3.2 sets it only
// while there are no requests, so fits makes none.
func (r *testCity) fits(name string, cols, rows int) {
	r.t.Helper()
	tty, err := os.OpenFile(r.runTmux("display-message", "-p", "-t", "="+name+":", "#{pane_tty}"), os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tty.Close()
	until(r.t, fmt.Sprintf("the program sees %d columns and %d rows", cols, rows), func() bool {
		height, width, err := pty.Getsize(tty)
		return err == nil && width == cols && height == rows
	})
}

// testTerminal is a terminal of a person: a separate tmux server.
type testTerminal struct {
	t     *testing.T
	dir   string
	seats int
}

func newTestTerminal(t *testing.T) *testTerminal {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcdesk") //nolint:usetesting // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	d := &testTerminal{t: t, dir: dir}
	t.Cleanup(func() {
		kill := exec.Command("tmux", "-S", filepath.Join(dir, "s"), "kill-server") // the test's context has ended
		_ = kill.Run()                                                             // it may have no server
		_ = os.RemoveAll(dir)                                                      // a temporary folder
	})
	return d
}

func (d *testTerminal) tmux(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "tmux", append([]string{"-S", filepath.Join(d.dir, "s"), "-f", "/dev/null"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// attach opens a window of the size in which a person attaches to the session.
func (d *testTerminal) attach(cols, rows int, dir, name string, flags ...string) (pane string) {
	d.t.Helper()
	d.seats++
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	pane = fmt.Sprintf("w%d", d.seats)
	script := fmt.Sprintf("echo my own text; %s attach %s %s %s; echo left $?; exec cat", self, dir, name, strings.Join(flags, " "))
	d.tmux("new-session", "-d", "-s", pane, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script, ";", "set", "-g", "status", "off",
		";", "resize-window", "-t", pane, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows))
	return pane
}

func (d *testTerminal) shows(pane, text string) {
	d.t.Helper()
	until(d.t, fmt.Sprintf("the terminal shows %q, it has\n%s", text, d.tmux("capture-pane", "-p", "-t", pane)), func() bool {
		return strings.Contains(d.tmux("capture-pane", "-p", "-t", pane), text)
	})
}

func (d *testTerminal) keys(pane string, keys ...string) {
	d.t.Helper()
	d.tmux(append([]string{"send-keys", "-t", pane}, keys...)...)
}

// leave presses the detach keys of tmux until they work: two keys within a millisecond count as a paste.
func (d *testTerminal) leave(pane string) {
	d.t.Helper()
	until(d.t, "the person has left", func() bool {
		text := d.tmux("capture-pane", "-p", "-t", pane)
		if strings.Contains(text, "left 0") {
			return true
		}
		if strings.Contains(text, `C-\ detaches`) {
			d.keys(pane, "C-b")
			d.keys(pane, "d")
		}
		return false
	})
}

// attachMain is the program of gc attach for these tests. It runs in a real terminal.
func attachMain(dir, name string, flags []string) int {
	cfg := config(dir)
	cfg.Environ = os.Environ()
	p, err := tmux.Open(cfg)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if err := p.AttachTerminal(context.Background(), name, runtime.AttachOptions{ReadOnly: len(flags) > 0}); err != nil { //nolint:forbidigo // this is a main
		fmt.Println("attach failed:", err)
		return 1
	}
	return 0
}
