package pty_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/provider/pty"
	"gascity/runtime"
)

// attachMain is the program of gc attach for these tests. It runs in a real terminal.
func attachMain(dir, name string, flags []string) int {
	p, err := pty.Open(config(dir))
	if err != nil {
		fmt.Println(err)
		return 2
	}
	opts := runtime.AttachOptions{ReadOnly: len(flags) > 0}
	if err := p.AttachTerminal(context.Background(), name, opts); err != nil { //nolint:forbidigo // this is a main
		fmt.Println("attach failed:", err)
		return 1
	}
	return 0
}

// testTerminal is a terminal of a person: a separate tmux server.
type testTerminal struct {
	t      *testing.T
	socket string
	dir    string // of the sessions
	files  string
	seats  int
}

func newTestTerminal(t *testing.T) (*testTerminal, *pty.Provider) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "gcdesk") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	p, err := pty.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	d := &testTerminal{t: t, socket: "desk", dir: dir, files: t.TempDir()}
	t.Cleanup(func() {
		kill := exec.Command("tmux", "-L", d.socket, "kill-server") // the test's context has ended
		kill.Env = d.environ()
		_ = kill.Run() // it may have no server
		names, err := p.ListRunning("")
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if err := p.Stop(name); err != nil {
				t.Error(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return d, p
}

func (d *testTerminal) tmux(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "tmux", append([]string{"-L", d.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = d.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// environ keeps the socket of tmux in the directory of the test.
func (d *testTerminal) environ() []string { return append(os.Environ(), "TMUX_TMPDIR="+d.dir) }

// attachment is one window in which a person attaches.
type attachment struct {
	*testTerminal
	pane          string
	before, after string // files with the terminal's settings
}

// attach opens a window of the size and attaches to the session in it.
func (d *testTerminal) attach(cols, rows int, name string, flags ...string) *attachment {
	d.t.Helper()
	d.seats++
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	s := &attachment{testTerminal: d, pane: "w" + strconv.Itoa(d.seats)}
	s.before, s.after = filepath.Join(d.files, s.pane+".before"), filepath.Join(d.files, s.pane+".after")
	script := fmt.Sprintf("echo my own text; stty -g >%s; %s attach %s %s %s; echo left $?; stty -g >%s; exec cat", s.before, self, d.dir, name, strings.Join(flags, " "), s.after)
	d.tmux("new-session", "-d", "-s", s.pane, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), script,
		";", "set", "-g", "status", "off", ";", "resize-window", "-t", s.pane, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
	return s
}

func (s *attachment) screen() string { s.t.Helper(); return s.tmux("capture-pane", "-p", "-t", s.pane) }

func (s *attachment) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", s.pane}, keys...)...)
}

func (s *attachment) is(format string) string {
	s.t.Helper()
	return s.tmux("display-message", "-p", "-t", s.pane, format)
}

func (s *attachment) shows(text string) {
	s.t.Helper()
	eventually(s.t, func() bool { return strings.Contains(s.screen(), text) }, func() string {
		return fmt.Sprintf("the terminal does not show %q:\n%s", text, s.screen())
	})
}

// restored checks that the settings of the terminal are restored.
func (s *attachment) restored(said string) {
	s.t.Helper()
	s.shows("left 0")
	eventually(s.t, func() bool { _, err := os.Stat(s.after); return err == nil }, func() string { return "no settings after" })
	if text := s.screen(); !strings.Contains(text, said) || !strings.Contains(text, "my own text") {
		s.t.Errorf("want the previous screen and %q:\n%s", said, text)
	}
	const modes = "alt #{alternate_on} mouse #{mouse_any_flag} sgr #{mouse_sgr_flag} cursor #{cursor_flag} keys #{keypad_cursor_flag} pad #{keypad_flag}"
	if got, want := s.is(modes), "alt 0 mouse 0 sgr 0 cursor 1 keys 0 pad 0"; got != want {
		s.t.Errorf("afterwards the terminal has modes %q, want %q", got, want)
	}
	before, err := os.ReadFile(s.before)
	if err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, func() bool { after, err := os.ReadFile(s.after); return err == nil && string(after) == string(before) },
		func() string { return "the terminal's settings are not what they were" })
}

// awaitSize waits until the session has the size.
func awaitSize(t *testing.T, p *pty.Provider, name string, cols, rows int) {
	t.Helper()
	v, err := p.OpenTerminal(t.Context(), name, runtime.TerminalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		f, err := v.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for the size %dx%d: %v", cols, rows, err)
		}
		if f.Cols == cols && f.Rows == rows {
			return
		}
	}
}

func eventually(t *testing.T, done func() bool, otherwise func() string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(otherwise())
		}
	}
}

func startShell(t *testing.T, p *pty.Provider, name string) {
	t.Helper()
	shell := "exec sh -i"
	if _, err := exec.LookPath("bash"); err == nil {
		shell = "exec bash --norc --noprofile -i"
	}
	cfg := runtime.Config{Command: shell, WorkDir: t.TempDir(), Env: map[string]string{"PS1": "ready> "}}
	if err := p.Start(t.Context(), name, cfg); err != nil {
		t.Fatal(err)
	}
}

// A person attaches, types, resizes the window, detaches with either key and attaches again. The session
// continues.
func TestAttachAsAPersonDoes(t *testing.T) {
	t.Parallel()
	d, p := newTestTerminal(t)
	startShell(t, p, "shell")
	s := d.attach(100, 30, "shell")
	s.shows("ready>")
	s.keys("echo hello-$((40+2)); stty size", "Enter")
	s.shows("hello-42")
	s.shows("30 100")
	d.tmux("resize-window", "-t", s.pane, "-x", "70", "-y", "15")
	awaitSize(t, p, "shell", 70, 15) // tmux delays the signal
	s.keys("stty size", "Enter")
	s.shows("15 70")
	eventually(t, func() bool {
		text, err := p.Peek("shell", 15)
		return err == nil && strings.Join(strings.Fields(text), " ") == strings.Join(strings.Fields(s.screen()), " ")
	}, func() string {
		text, err := p.Peek("shell", 15)
		return fmt.Sprintf("the person sees\n%s\nthe session has\n%s\n%v", s.screen(), text, err)
	})
	s.keys("C-c")
	s.shows("^C")
	s.keys("C-b", "C-b") // the shell gets one: the cursor moves left
	s.keys("printf '\\033[?1000;1006h\\033[?1h\\033=\\033[?25l\\033[31mX'; cat", "Enter")
	eventually(t, func() bool { return s.is("#{alternate_on}#{mouse_any_flag}#{mouse_sgr_flag}") == "111" },
		func() string { return "the program's mouse mode does not reach the person's terminal" })
	s.keys("C-b", "d")
	s.restored("[detached from shell]")

	again := d.attach(80, 24, "shell")
	again.shows("stty size")
	again.keys(`C-\`)
	again.restored("[detached from shell]")
	eventually(t, func() bool { return !p.IsAttached("shell") }, func() string { return "a terminal is still attached" })
	if !p.IsRunning("shell") {
		t.Error("the session did not survive the detach")
	}
}

// Two people see the same screen, each limited to their window. A read-only one cannot type and does not
// determine the size.
func TestTwoPeopleAtOnce(t *testing.T) {
	t.Parallel()
	d, p := newTestTerminal(t)
	startShell(t, p, "shared")
	first, second := d.attach(90, 20, "shared"), d.attach(120, 40, "shared")
	first.shows("ready>")
	second.shows("ready>")
	first.keys("echo from-$((1)); stty size", "Enter")
	first.shows("20 90")
	second.shows("from-1")
	second.keys("echo from-$((2)); stty size", "Enter")
	second.shows("40 120")
	first.shows("from-2")
	reader := d.attach(60, 10, "shared", "readonly")
	reader.shows("from-2")
	reader.keys("echo nev''er", "Enter")
	second.keys("echo last; stty size", "Enter")
	second.shows("last\n40 120")
	if text := second.screen(); strings.Contains(text, "never") {
		t.Errorf("a reader typed:\n%s", text)
	}
	reader.keys("C-b", "d")
	reader.restored("[detached from shared]")
	for _, s := range []*attachment{first, second} {
		s.keys(`C-\`)
		s.restored("[detached from shared]")
	}
}

// The terminal is restored for every end of a session.
func TestTerminalIsRestoredWhateverEnds(t *testing.T) {
	t.Parallel()
	d, p := newTestTerminal(t)
	for name, c := range map[string]struct {
		end  func(name string) error
		said string
	}{
		"stopped": {p.Stop, "[stopped was stopped]"},
		"exited":  {func(name string) error { return p.SendKeys(name, "exit 7", "Enter") }, "[exited "},
		"killed": {func(name string) error {
			obs, err := p.Observe(t.Context(), name)
			if err != nil {
				return err
			}
			agent, err := proc.Stat(obs.PID)
			if err != nil {
				return err
			}
			return syscall.Kill(agent.PPID, syscall.SIGKILL)
		}, "[killed was stopped]"},
	} {
		startShell(t, p, name)
		s := d.attach(80, 24, name)
		s.shows("ready>")
		s.keys("printf '\\033[?1000;1006h\\033[?1049h'", "Enter")
		eventually(t, func() bool { return s.is("#{mouse_any_flag}") == "1" }, func() string { return "no mouse mode" })
		if name == "exited" {
			s.keys("exit 7", "Enter")
		} else if err := c.end(name); err != nil {
			t.Fatal(err)
		}
		s.restored(c.said)
		if err := p.Stop(name); err != nil { // processes of the killed shim
			t.Error(err)
		}
	}
}

// A person can detach from an agent that does not read, also after a paste.
func TestDetachFromAnAgentThatDoesNotRead(t *testing.T) {
	t.Parallel()
	d, p := newTestTerminal(t)
	if err := p.Start(t.Context(), "deaf", runtime.Config{Command: "stty raw -echo; echo up; exec sleep 1000", WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	s := d.attach(80, 24, "deaf")
	s.shows("up")
	text := filepath.Join(d.files, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("a long text ", 60_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.tmux("load-buffer", text, ";", "paste-buffer", "-t", s.pane)
	began := time.Now()
	s.keys("C-b", "d")
	s.restored("[detached from deaf]")
	t.Logf("detached after %v", time.Since(began))
}
