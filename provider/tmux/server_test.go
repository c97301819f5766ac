package tmux_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/provider/tmux"
	"gascity/runtime"
)

// The tmux server and configuration of a person are neither used nor changed, also if gc runs inside it.
func TestOtherTmuxServersAreNotChanged(t *testing.T) {
	needsTmux(t)
	home, err := os.MkdirTemp("", "gchome") //nolint:usetesting // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // a temporary folder
	odd := "set -g base-index 5\nset -g pane-base-index 3\nset -g remain-on-exit off\nset -g default-command 'sleep 1'\nset -g window-size smallest\nset -g prefix C-a\n"
	if err := os.WriteFile(filepath.Join(home, ".tmux.conf"), []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(home, "theirs")
	theirs := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", socket, "-f", filepath.Join(home, ".tmux.conf")}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	theirs("new-session", "-d", "-s", "s", "cat")
	defer theirs("kill-server")
	look := func() string {
		return theirs("list-sessions") + theirs("show-options", "-g") + theirs("list-keys") + theirs("show-environment", "-g") + theirs("show-hooks", "-g")
	}
	before := look()
	t.Setenv("TMUX", socket+",1,0")
	t.Setenv("TMUX_PANE", "%0")
	r := newTestCity(t, func(cfg *tmux.Config) {
		cfg.Env = append(cfg.Env, "TMUX="+socket+",1,0", "TMUX_PANE=%77", "TERM=xterm-odd", "HOME="+home)
	})
	a := r.start("s", "claude", "--print-env-to "+filepath.Join(r.dir, "env"))
	a.prompt("hello")
	env, err := os.ReadFile(filepath.Join(r.dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{socket, "%77", "xterm-odd"} {
		if strings.Contains(string(env), foreign) {
			t.Errorf("the agent received %q from the person's terminal", foreign)
		}
	}
	if after := look(); after != before {
		t.Errorf("the person's server was\n%s\nand is\n%s", before, after)
	}
}

// A person with a tiny terminal does not change the size of other sessions, and not that of this session after
// the detach.
func TestTinyClientsDoNotShrinkAgents(t *testing.T) {
	t.Parallel()
	r, d := newTestCity(t), newTestTerminal(t)
	one := r.start("one", "", "")
	d.attach(2, 1, r.dir, "one")
	until(t, "somebody is attached", func() bool { return r.IsAttached("one") })
	until(t, "the looked at session follows", func() bool { return r.runTmux("display-message", "-p", "-t", "=one:", "#{window_width}") == "2" })
	two := r.start("two", "", "")
	if rec := two.wait(ledger.Start, 1)[0]; rec.Cols != 200 || rec.Rows != 50 {
		t.Errorf("the other agent was started with %dx%d", rec.Cols, rec.Rows)
	}
	for _, rec := range ledger.Of(all(t, two.file), ledger.Resize) {
		t.Errorf("the other agent received a resize: %+v", rec)
	}
	d.tmux("kill-session", "-t", "w1")
	until(t, "no client is attached", func() bool { return !r.IsAttached("one") })
	until(t, "it has its own size again", func() bool {
		return r.runTmux("display-message", "-p", "-t", "=one:", "#{window_width}x#{window_height}") == "200x50"
	})
	until(t, "a prompt is taken", func() bool { // attach and detach count as activity of a person
		out, err := r.Deliver(t.Context(), "one", runtime.Delivery{Content: runtime.TextContent("still well")})
		return err == nil && out.State == runtime.OutcomeSubmitted
	})
	one.wantPrompts("still well")
}

func all(t *testing.T, file string) []ledger.Record {
	t.Helper()
	records, err := ledger.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// A person attaches, types, detaches with either key, and attaches again, also from inside of tmux. The exit of
// the agent is reported.
func TestAttachAsAPersonDoes(t *testing.T) {
	t.Parallel()
	r, d := newTestCity(t), newTestTerminal(t)
	r.shell("shell", "exec bash --norc --noprofile -i", map[string]string{"PS1": "ready> "})
	s := d.attach(100, 30, r.dir, "shell")
	d.shows(s, "ready>")
	r.fits("shell", 100, 29) // the status line has the last row
	d.keys(s, "echo hello-$((40+2)); stty size", "Enter")
	d.shows(s, "hello-42")
	d.shows(s, "29 100")
	until(t, "a key is reported", func() bool {
		obs, err := r.Observe(t.Context(), "shell")
		return err == nil && obs.Attached == 1 && time.Since(obs.LastInput) < time.Minute
	})
	d.leave(s)
	d.shows(s, "my own text")
	again := d.attach(90, 20, r.dir, "shell")
	d.shows(again, "hello-42")
	d.keys(again, `C-\`)
	d.shows(again, "left 0")
	reader := d.attach(90, 20, r.dir, "shell", "read-only")
	d.shows(reader, "hello-42")
	d.keys(reader, "echo not-$((1+1))", "Enter")
	d.leave(reader)
	if text, err := r.Peek("shell", 0); err != nil || strings.Contains(text, "not-") {
		t.Errorf("a read-only client has typed: %q, %v", text, err)
	}
	last := d.attach(90, 20, r.dir, "shell")
	d.shows(last, "hello-42")
	if err := r.Stop("shell"); err != nil {
		t.Fatal(err)
	}
	d.shows(last, "[shell was stopped]")
}

// An attachment adds one client, which gets no output of other agents. It must not add a control client: tmux
// crashes if a client detaches while a control client connects.
func TestAttachAddsNoControlClient(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	r.shell("s", "exec cat", nil)
	r.person("s")
	r.person("s")
	clients := strings.Fields(r.runTmux("list-clients", "-F", "#{client_control_mode}"))
	slices.Sort(clients)
	if !slices.Equal(clients, []string{"0", "0", "1"}) {
		t.Errorf("two people are attached, and the server has the clients %q (1: control), want 0, 0 and ours", clients)
	}
}

// If the server exits, the error of an attachment says so, and has not only the exit status of the tmux client.
func TestAttachReportsALostServer(t *testing.T) {
	t.Parallel()
	r, d := newTestCity(t), newTestTerminal(t)
	r.shell("s", "exec cat", nil)
	seat := d.attach(160, 30, r.dir, "s")
	until(t, "somebody is attached", func() bool { return r.IsAttached("s") })
	server, err := strconv.Atoi(r.runTmux("display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.shows(seat, "or its tmux server; gc status shows more")
}

// A prompt waits for a person who types, and is never joined to their text.
func TestPromptWaitsForAPerson(t *testing.T) {
	t.Parallel()
	r, d := newTestCity(t, func(cfg *tmux.Config) { cfg.HumanQuiet = 2 * time.Second }), newTestTerminal(t)
	a := r.start("s", "claude", "")
	s := d.attach(100, 30, r.dir, "s")
	until(t, "somebody is attached", func() bool { return r.IsAttached("s") })
	d.keys(s, "a draft")
	d.shows(s, "a draft")
	out, err := r.Deliver(t.Context(), "s", runtime.Delivery{Content: runtime.TextContent("a prompt")})
	if err != nil || out.State != runtime.OutcomeRefused {
		t.Fatalf("beside a draft: %+v, %v", out, err)
	}
	d.keys(s, "Enter")
	until(t, "the prompt is taken", func() bool {
		out, err = r.Deliver(t.Context(), "s", runtime.Delivery{ID: "p", Content: runtime.TextContent("a prompt")})
		return err != nil || out.State == runtime.OutcomeSubmitted
	})
	if err != nil {
		t.Fatal(err)
	}
	a.wantPrompts("a draft", "a prompt")
}

// Values with special characters arrive unchanged, invalid names are omitted, and variables to unset are unset.
func TestHostileEnvironment(t *testing.T) {
	t.Parallel()
	r := newTestCity(t, func(cfg *tmux.Config) {
		cfg.Env = append(cfg.Env, "BASH_FUNC_x%%=() { echo; }", "GONE=base", "KEPT=$(id) `id` ~ !! \xff\n'\"\\;#{pid}")
	})
	want := map[string]string{
		"NEWLINES": "a\nb\n\n", "QUOTES": `'"'"'\''`, "DOLLARS": "$HOME ${PATH} $(id) `id`", "FORMAT": "#{pane_id} #[fg=red] %H;", "BYTES": "\x01\x1b[31m\xff\xfe",
		"LONG": strings.Repeat("x", 100_000), "TMUX_TMPDIR": "/nowhere", "EQUALS": "==a=b", "KEPT": "$(id) `id` ~ !! \xff\n'\"\\;#{pid}",
	}
	env := map[string]string{"GONE": "", "HOME": ""}
	maps.Copy(env, want)
	file := filepath.Join(r.dir, "env")
	r.shell("s", "exec cat /proc/self/environ > "+file+".new && mv "+file+".new "+file+"; exec sleep 1000", nil)
	if err := r.Stop("s"); err != nil {
		t.Fatal(err)
	}
	r.shell("s", "cat /proc/self/environ > "+file+".new && mv "+file+".new "+file+"; exec sleep 1000", env)
	var got []byte
	until(t, "the environment is written", func() (ok bool) {
		data, err := os.ReadFile(file)
		got = data
		return err == nil
	})
	entries := strings.Split(string(got), "\x00")
	for name, v := range want {
		if !slices.Contains(entries, name+"="+v) {
			t.Errorf("%s is not %.60q", name, v)
		}
	}
	for _, entry := range entries {
		for _, name := range []string{"GONE=", "HOME=", "BASH_FUNC"} {
			if strings.HasPrefix(entry, name) {
				t.Errorf("there is %q", entry)
			}
		}
	}
}

// A secret of the environment is in no argument, in no output of tmux, and in no file that remains.
func TestSecretsAreNotReadable(t *testing.T) {
	t.Parallel()
	const canary = "canary-5f2b8a"
	r := newTestCity(t)
	stop := make(chan struct{})
	var found sync.Map
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			list, _ := proc.List() // processes may exit meanwhile
			for _, info := range list {
				argv, _ := proc.Argv(info.PID)
				if text := strings.Join(argv, " "); strings.Contains(text, canary) {
					found.Store(text, true)
				}
			}
		}
	})
	for n := range 5 {
		name := fmt.Sprintf("s%d", n)
		err := r.Start(t.Context(), name, runtime.Config{
			Command: "exec cat", WorkDir: r.dir, Env: map[string]string{"API_KEY": canary, "GC_INSTANCE_TOKEN": canary + name},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	found.Range(func(text, _ any) bool { t.Errorf("an argument: %v", text); return true })
	for _, list := range [][]string{
		{"show-environment", "-g"},
		{"show-environment", "-t", "=s1"},
		{"show-options", "-g"},
		{"show-options", "-s"},
		{"show-options", "-t", "=s1:"},
		{"show-options", "-p", "-t", "=s1:"},
		{"show-options", "-w", "-t", "=s1:"},
		{"list-buffers"},
		{"show-messages"},
		{"list-panes", "-a", "-F", "#{pane_start_command} #{pane_current_command} #{pane_title}"},
	} {
		if strings.Contains(r.runTmux(list...), canary) {
			t.Errorf("it is in %v", list)
		}
	}
	err := filepath.WalkDir(r.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		info, statErr := e.Info()
		if errors.Join(err, statErr) == nil && strings.Contains(string(data), canary) && (filepath.Base(path) != "instance" || info.Mode().Perm() != 0o600) {
			t.Errorf("it is in %s", path)
		}
		return errors.Join(err, statErr)
	})
	if err != nil {
		t.Error(err)
	}
}

// A person may rename a session, split its window and kill it by hand.
func TestPersonRearrangesASession(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	events, err := r.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := r.start("s", "claude", "")
	r.runTmux("split-window", "-t", "=s:", "cat")
	r.runTmux("new-window", "-t", "=s:", "cat")
	r.runTmux("rename-session", "-t", "=s", "theirs")
	a.prompt("where am I")
	a.wantPrompts("where am I")
	if names, err := r.ListRunning(""); err != nil || !slices.Equal(names, []string{"s"}) {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
	r.runTmux("kill-session", "-t", "=theirs")
	for e := range events {
		if e.Kind == runtime.EventGone && e.Session == "s" {
			break
		}
	}
	until(t, "its agent has ended", func() bool {
		obs, err := r.Observe(t.Context(), "s")
		return err == nil && obs.Session == runtime.Dead && obs.Agent == runtime.Dead
	})
	r.start("s", "claude", "").prompt("again")
	r.runTmux("new-window", "-t", "=s:", "cat")
	if err := r.Stop("s"); err != nil {
		t.Fatal(err)
	}
	r.shell("s", "exec cat", nil)
}

// A city whose path is too long for a socket works.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.Dir = filepath.Join(cfg.Dir, strings.Repeat("long", 30)) })
	r.shell("s", "exec cat", nil)
	if !r.IsRunning("s") {
		t.Error("it does not run")
	}
}

// Several processes may start all sessions of a city at once.
func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	second, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	var wg sync.WaitGroup
	for n := range 40 {
		p := []*tmux.Provider{r.Provider, second}[n%2]
		wg.Go(func() {
			if err := p.Start(t.Context(), fmt.Sprintf("s%d", n), runtime.Config{Command: "exec cat", WorkDir: r.dir}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if names, err := r.ListRunning(""); err != nil || len(names) != 40 {
		t.Errorf("%d run, %v", len(names), err)
	}
}

// Without tmux the error has the fix.
func TestMissingTmux(t *testing.T) {
	t.Parallel()
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.Env = []string{"PATH=/nowhere"} })
	err := r.Start(t.Context(), "s", runtime.Config{Command: "cat", WorkDir: r.dir})
	if err == nil || !strings.Contains(err.Error(), "tmux is not installed") || !strings.Contains(err.Error(), `"pty"`) || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("Start = %v", err)
	}
	if names, err := r.ListRunning(""); len(names) > 0 || err != nil {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
}

// An old tmux is refused with the same error before it starts a server.
func TestOldTmux(t *testing.T) {
	t.Parallel()
	old := filepath.Join(t.TempDir(), "tmux")
	const program = "#!/bin/sh\n[ \"$1\" = -V ] && echo 'tmux 2.9a' && exit 0\necho usage >&2\necho run >>\"$0.log\"\nexit 1\n"
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat >"$1" && chmod 700 "$1"`, "sh", old) // a file that this process writes could not be executed while another test forks
	write.Stdin = strings.NewReader(program)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.Binary = old })
	err := r.Start(t.Context(), "s", runtime.Config{Command: "cat", WorkDir: r.dir})
	if err == nil || !strings.Contains(err.Error(), "too old: "+old+" is version 2.9a, and 3.0 or newer") || !strings.Contains(err.Error(), `"pty"`) {
		t.Errorf("Start = %v", err)
	}
	if _, err := os.Stat(old + ".log"); err == nil {
		t.Error("it was run for more than its version")
	}
}

// If the server is killed under load, all sessions are reported as gone. Surviving processes are reported, and
// killed by Stop. Only Start starts a server.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	events, err := r.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	load := "yes flood"
	if before(t, "3.2") {
		load = "exec cat" // it cannot pause panes
	}
	var names []string
	for n := range 8 {
		names = append(names, fmt.Sprintf("s%d", n))
		r.shell(names[n], load, nil)
	}
	r.shell("stubborn", "trap '' HUP TERM; exec sleep 1000", nil)
	r.shell("helped", "setsid sleep 1000 & exec cat", nil)
	pid := number(t, r.runTmux("display-message", "-p", "#{pid}"))
	delivering := make(chan error, 1)
	go func() {
		_, err := r.Deliver(t.Context(), names[0], runtime.Delivery{Content: runtime.TextContent("a prompt")})
		delivering <- err
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone, lost := map[string]bool{}, 0
	until(t, "every session is reported as gone", func() bool {
		select {
		case e := <-events:
			switch e.Kind { //nolint:exhaustive // the others were sent before
			case runtime.EventServerLost:
				lost++
			case runtime.EventGone:
				gone[e.Session] = true
			}
		default:
		}
		return len(gone) == 10
	})
	if lost != 1 {
		t.Errorf("the loss of the server was reported %d times", lost)
	}
	if err := <-delivering; err != nil {
		t.Logf("the delivery: %v", err)
	}
	for _, name := range names {
		until(t, name+" is dead", func() bool {
			obs, err := r.Observe(t.Context(), name)
			return err == nil && obs.Session == runtime.Dead && obs.Agent == runtime.Dead &&
				strings.Contains(obs.Cause, fmt.Sprintf("tmux server (process %d) ended", pid))
		})
	}
	obs, err := r.Observe(t.Context(), "stubborn")
	if err != nil || obs.Session != runtime.Dead || obs.Agent != runtime.Alive {
		t.Errorf("what survived is %s in a session %s, %v", obs.Agent, obs.Session, err)
	}
	until(t, "a session that is reported alive lives", func() bool { // cat exits shortly after its terminal
		obs, err = r.Observe(t.Context(), "helped")
		info, gone := proc.Stat(obs.PID)
		return err == nil && obs.Agent == runtime.Alive && gone == nil && info.Comm == "sleep"
	})
	if names, err := r.ListRunning(""); err != nil || len(names) > 0 {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
	err = r.Start(t.Context(), "stubborn", runtime.Config{Command: "cat", WorkDir: r.dir})
	if !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("a start beside what survived = %v", err)
	}
	if err := serverless(r.dir); err != nil {
		t.Errorf("something started a server: %v", err)
	}
	if err := errors.Join(r.Stop("stubborn"), r.Stop("helped")); err != nil {
		t.Error(err)
	}
	if left, err := proc.FindByEnv("GC_SESSION_NAME", "stubborn"); err != nil || slices.ContainsFunc(left, func(m proc.EnvMatch) bool { return strings.HasPrefix(dirOf(m.PID), r.dir) }) {
		t.Errorf("after Stop there are %v, %v", left, err)
	}
	for _, name := range append(names[:1:1], "stubborn") {
		r.shell(name, "exec cat", nil)
		if !r.IsRunning(name) {
			t.Errorf("%s does not run again", name)
		}
	}
}

// An observation at the moment of an exit has the exit status.
func TestExitedAgentHasItsExitStatus(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	for n := range 20 {
		name := fmt.Sprintf("s%d", n)
		r.shell(name, "exec cat", nil)
		obs, err := r.Observe(t.Context(), name)
		if err != nil || obs.Agent != runtime.Alive {
			t.Fatalf("%+v, %v", obs, err)
		}
		if err := syscall.Kill(obs.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for obs.Agent == runtime.Alive {
			if obs, err = r.Observe(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Code == 0 {
			t.Errorf("%s: %+v", name, obs)
		}
	}
}

func dirOf(pid int) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // empty: it has exited
	return dir
}

func number(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q is no number", text)
	}
	return n
}

// The pane's process has no token in its environment while it runs the first lines of the launcher. If the server is lost then,
// the process counts as one of the session: a second agent is not started beside it.
func TestPaneProcessWithoutTokenPreventsASecondStart(t *testing.T) {
	r := newTestCity(t)
	r.shell("a", "sleep 1000", nil)
	r.runTmux("kill-server")
	until(t, "the agent has exited", func() bool {
		obs, err := r.Observe(t.Context(), "a")
		return err == nil && obs.Agent == runtime.Dead
	})
	launcher := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- launcher.Wait() }()
	info, err := proc.Stat(launcher.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "tmux", "sessions", "*", "session.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the records are %q, %v", files, err)
	}
	record := map[string]any{}
	if err := statedir.ReadJSON(files[0], &record); err != nil {
		t.Fatal(err)
	}
	record["root"] = info.ID
	if err := statedir.WriteJSON(files[0], record); err != nil {
		t.Fatal(err)
	}
	cfg := runtime.Config{Command: "sleep 1000", WorkDir: r.dir}
	if err := r.Start(t.Context(), "a", cfg); !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("a second Start = %v, want %v", err, runtime.ErrSessionExists)
	}
	if alive, err := proc.Alive(info.ID); !alive || err != nil {
		t.Errorf("the process was killed by Start: %v", err)
	}
	if err := r.Stop("a"); err != nil {
		t.Fatal(err)
	}
	<-exited //nolint:errcheck // its exit status does not matter
	if err := r.Start(t.Context(), "a", cfg); err != nil {
		t.Errorf("Start after Stop = %v", err)
	}
}
