package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// starter is another process that starts a session: with signals ignored that a
// controller under nohup or in the background ignores.
func starter(dir string) error {
	var s Spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGQUIT, syscall.SIGUSR1)
	f, err := OpenFleet(FleetOptions{Dir: dir, Command: shimCommand()})
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, stop := signal.NotifyContext(testContext{}, syscall.SIGTERM)
	defer stop()
	_, err = f.Start(ctx, s)
	return err
}

// testContext is a context without an end, for a process that is no test.
type testContext struct{}

func (testContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (testContext) Done() <-chan struct{}       { return nil }
func (testContext) Err() error                  { return nil }
func (testContext) Value(any) any               { return nil }

// startElsewhere runs the starter with further open files, which are no business of
// the agent.
func startElsewhere(t *testing.T, f *Fleet, s Spec, files ...*os.File) *exec.Cmd {
	t.Helper()
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "starter", f.opts.Dir)
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = bytes.NewReader(body), os.Stderr, files
	return cmd
}

// The agent gets nothing from its starter but what is meant for it.
func TestAgentInheritsNothing(t *testing.T) {
	f := testFleet(t)
	out := filepath.Join(t.TempDir(), "out")
	s := spec("clean", fmt.Sprintf(`exec 5>%s.new
{ grep -E 'Sig(Blk|Ign)' /proc/self/status
ls -l /proc/$$/fd
stty size; tty; ps -o sid=,tpgid= -p $$; echo pid $$; ulimit -n; umask; nice; echo TERM $TERM; } >&5; exec 5>&-
mv %[1]s.new %[1]s; cat`, out))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := startElsewhere(t, f, s, r, w, w)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the agent's report", func() bool { _, err := os.Stat(out); return err == nil })
	report, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	text := string(report)
	for _, want := range []string{"SigBlk:\t0000000000000000", "50 200", "/dev/pts/", "TERM xterm-256color"} {
		if !strings.Contains(text, want) {
			t.Errorf("the agent lacks %q in\n%s", want, text)
		}
	}
	var ignored uint64
	_, mask, _ := strings.Cut(text, "SigIgn:\t")
	if _, err := fmt.Sscanf(mask, "%x", &ignored); err != nil {
		t.Errorf("no ignored signals in\n%s", text)
	}
	// 32 and 33 are the C library's own: they cannot be set, and a starter of
	// the whole test run may have left them ignored.
	if ignored &^= 3 << 31; ignored != 0 {
		t.Errorf("the agent ignores the signals %b", ignored)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "pipe:") || strings.Contains(line, "socket:") || strings.Contains(line, f.opts.Dir) {
			t.Errorf("the agent has an open file of its starter or its shim: %s", line)
		}
	}
	sight, err := f.Observe(t.Context(), "clean")
	if err != nil || sight.Client == nil {
		t.Fatalf("Look: %+v, %v", sight, err)
	}
	shimFiles(t, sight.Record.Shim.PID)
	for _, file := range []string{"environ", "cmdline"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", sight.Record.Shim.PID, file))
		if err != nil || bytes.Contains(b, []byte("token-of")) || bytes.Contains(b, []byte("TERM=")) {
			t.Errorf("/proc/<shim>/%s is %q, %v; want nothing of the session", file, b, err)
		}
	}
}

// shimFiles finds pipes in the shim: a process that waits for their end would wait
// as long as the agent lives.
func shimFiles(t *testing.T, pid int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err == nil && strings.HasPrefix(to, "pipe:") && e.Name() != "0" {
			t.Errorf("the shim holds fd %s, %s, of its starter", e.Name(), to)
		}
	}
}

// shimByHand runs a shim without the fleet, for what the fleet never does.
func shimByHand(t *testing.T, f *Fleet, name string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.ReadCloser) {
	t.Helper()
	dir := statedir.For(f.opts.Dir, name)
	lock, err := dir.Claim()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "shim", string(dir))
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin, stdout
}

func expectNothing(t *testing.T, f *Fleet, name string) {
	t.Helper()
	if left, err := proc.FindByEnv(proc.TokenKey, "token-of-"+name); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if _, err := os.Stat(string(statedir.For(f.opts.Dir, name))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// A starter that is killed in the middle leaves nothing.
func TestStarterDiesMidway(t *testing.T) {
	f := testFleet(t)
	body, err := json.Marshal(spec("midway", "trap '' HUP TERM; while :; do sleep 1000; done"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{0, 10, len(body) - 1, len(body)} {
		cmd, stdin, stdout := shimByHand(t, f, "midway")
		if err := stdout.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(body[:part]); err != nil {
			t.Fatal(err)
		}
		if err := stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil && strings.Contains(err.Error(), "signal") {
			t.Errorf("after %d of %d bytes the shim ended by %v", part, len(body), err)
		}
		expectNothing(t, f, "midway")
	}
}

// However suddenly a shim ends while it starts, a stop finds what it had started.
func TestShimKilledAtAnyInstantOfTheStart(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	s := spec("instant", "trap '' HUP TERM; while :; do sleep 1000; done")
	s.Terminal = false // its pipes' end means nothing to the agent
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for after := time.Duration(0); after < 24*time.Millisecond; after += 300 * time.Microsecond {
		cmd, stdin, stdout := shimByHand(t, f, "instant")
		if _, err := stdin.Write(body); err != nil {
			t.Fatal(err)
		}
		<-time.After(after)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		_, _ = stdin.Close(), stdout.Close()
		if _, err := f.Stop(t.Context(), "instant", nil, 0); err != nil {
			t.Fatalf("after %v: %v", after, err)
		}
		expectNothing(t, f, "instant")
		if t.Failed() {
			t.Fatalf("after %v", after)
		}
	}
}

// If the record cannot be written, the start fails and the agent is gone.
func TestStartWithoutRoomForItsRecord(t *testing.T) {
	f := testFleet(t)
	cmd, stdin, stdout := shimByHand(t, f, "full")
	dir := statedir.For(f.opts.Dir, "full")
	if err := os.MkdirAll(filepath.Join(dir.Record()+".new", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(spec("full", "trap '' HUP; while :; do sleep 1000; done"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := readReport(stdout.(*os.File)); err == nil {
		t.Error("a start without a record succeeded")
	}
	_ = cmd.Wait() // it failed
	expectNothing(t, f, "full")
}

// The exit of an agent that ends at once is never missed.
func TestShortLivedAgents(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	for i := range 40 {
		s := spec("short", "")
		s.Argv = []string{"/bin/sh", "-c", "exit 7"}
		if i%2 == 0 {
			s.Argv = []string{"/bin/false"}
		}
		c := start(t, f, s)
		waitFor(t, "the exit", func() bool {
			sight, err := f.Observe(t.Context(), "short")
			return err == nil && (sight.ExitRecord != nil || sight.Client != nil && sight.State.Exit != nil)
		})
		if _, err := f.Stop(t.Context(), "short", &c.token, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// A shim that hangs is no reason that its session cannot be stopped.
func TestSilentShimIsStopped(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	start(t, f, spec("silent", "trap '' HUP; while :; do sleep 1000; done"))
	sight, err := f.Observe(t.Context(), "silent")
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(sight.Record.Shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stop(t.Context(), "silent", &sight.Token, 0); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, f, "silent")
}

// A shim makes again what was removed of its folder, by itself: the whole folder, the socket
// alone, or a file that clients need. The agent goes on.
func TestFolderRemovedUnderneath(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	for name, remove := range map[string]func(statedir.Folder) error{
		"folder": func(d statedir.Folder) error {
			for {
				if err := os.RemoveAll(string(d)); !errors.Is(err, syscall.ENOTEMPTY) { // the shim makes its files again meanwhile
					return err
				}
			}
		},
		"socket":   func(d statedir.Folder) error { return os.Remove(d.Sock()) },
		"instance": func(d statedir.Folder) error { return os.Remove(d.Instance()) },
		"record":   func(d statedir.Folder) error { return os.Remove(d.Record()) },
		"lock":     func(d statedir.Folder) error { return os.Remove(d.Lock()) },
	} {
		s := spec(name, "cat")
		s.WatchInterval = 100 * time.Millisecond
		c := start(t, f, s)
		before, err := c.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dir := statedir.For(f.opts.Dir, name)
		if err := remove(dir); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the files of "+name, func() bool {
			if slices.ContainsFunc([]string{dir.Lock(), dir.Sock(), dir.Instance(), dir.Record(), dir.Input()}, statedir.NotExists) {
				return false
			}
			held, err := dir.IsLocked()
			return held && err == nil
		})
		after, err := f.Observe(t.Context(), name)
		if err != nil || after.Client == nil || after.State.Root != before.Root || after.Token != s.Instance {
			t.Errorf("%s: after the removal a look finds %+v, %v", name, after, err)
		}
	}
}

// The folder of all sessions is removed while their shims live: every look, list, start and
// stop finds the same sessions again, from the process that knew them and from another one.
// Nothing is started a second time, and a stop ends what runs.
func TestRuntimeFolderRemoved(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"the same process", "another process"} {
		for _, what := range []string{"look", "list", "start", "stop"} {
			t.Run(what+" by "+who, func(t *testing.T) {
				t.Parallel()
				f, one, two := testFleet(t), "one "+what+who, "two "+what+who
				first, err := start(t, f, spec(one, "exec cat")).State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				start(t, f, spec(two, "exec cat"))
				if _, err := f.Running(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(f.opts.Dir); err != nil {
					t.Fatal(err)
				}
				g := f
				if who != "the same process" {
					g = openFleet(t, f.opts.Dir)
					defer g.Close()
				}
				switch what {
				case "look":
				case "list":
					if names, err := g.Names(t.Context()); err != nil || !slices.Equal(names, []string{one, two}) {
						t.Errorf("listed %v, %v", names, err)
					}
				case "start":
					if _, err := g.Start(t.Context(), spec(one, "exec cat")); !errors.Is(err, ErrNameInUse) {
						t.Errorf("a second start: %v, want ErrTaken", err)
					}
				case "stop":
					if _, err := g.Stop(t.Context(), one, nil, 0); err != nil {
						t.Error(err)
					}
					if left, err := proc.FindByEnv(proc.TokenKey, "token-of-"+one); err != nil || len(left) > 0 {
						t.Errorf("after the stop there are %v, %v", left, err)
					}
					return
				}
				sight, err := g.Observe(t.Context(), one)
				if err != nil || sight.Client == nil || sight.State.Root != first.Root {
					t.Fatalf("a look finds %+v, %v; want the session that was started", sight, err)
				}
				if err := sight.Client.Send(t.Context(), []byte("hello\n")); err != nil {
					t.Error(err)
				}
				frameWith(t, sight.Client, "hello")
				if left, err := proc.FindByEnv(proc.TokenKey, "token-of-"+one); err != nil || len(left) != 1 {
					t.Errorf("there are %d copies, %v", len(left), err)
				}
			})
		}
	}
}

// A session that runs and cannot be reached is named, and left alone: neither is another one
// started beside it, nor does anybody take it for gone.
func TestFolderCannotBeMadeAgain(t *testing.T) {
	t.Parallel()
	above, err := os.MkdirTemp("", "gcshim") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(above) }) // a temporary folder
	dir := filepath.Join(above, "f")
	f := openFleet(t, dir)
	defer f.Close()
	state, err := start(t, f, spec("blocked", "cat")).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.reviveLimit = 300 * time.Millisecond
	if err := errors.Join(os.RemoveAll(dir), os.Chmod(above, 0o777)); err != nil { // not sticky: a shim puts no socket there
		t.Fatal(err)
	}
	for what, try := range map[string]func() error{
		"look":  func() error { _, err := f.Observe(t.Context(), "blocked"); return err },
		"start": func() error { _, err := f.Start(t.Context(), spec("blocked", "cat")); return err },
		"stop":  func() error { _, err := f.Stop(t.Context(), "blocked", nil, 0); return err },
	} {
		var unreachable *UnreachableError
		if err := try(); !errors.As(err, &unreachable) {
			t.Errorf("%s: %v; want an error that says that the session cannot be reached", what, err)
		}
	}
	if alive, err := proc.Alive(state.Root); !alive || err != nil {
		t.Errorf("the agent lives: %v, %v", alive, err)
	}
	if err := os.Chmod(above, 0o700); err != nil {
		t.Fatal(err)
	}
	f.reviveLimit = reviveLimit
	if _, err := f.Stop(t.Context(), "blocked", nil, 0); err != nil {
		t.Errorf("stop, once the folder can be made: %v", err)
	}
	if alive, err := proc.Alive(state.Root); alive || err != nil {
		t.Errorf("after the stop the agent lives: %v, %v", alive, err)
	}
}

// A damaged record, as after a power failure, hinders neither start nor stop.
func TestDamagedRecord(t *testing.T) {
	f := testFleet(t)
	for _, next := range []string{"stop", "start"} {
		dir := statedir.For(f.opts.Dir, "damaged")
		if err := os.MkdirAll(string(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir.Lock(), dir.Record(), dir.ExitRecord(), dir.Instance()} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if states, err := f.Running(t.Context()); err != nil || len(states) > 0 {
			t.Errorf("Running: %v, %v", states, err)
		}
		if next == "start" {
			start(t, f, spec("damaged", "cat"))
			continue
		}
		if _, err := f.Stop(t.Context(), "damaged", nil, 0); err != nil {
			t.Fatal(err)
		}
		expectNothing(t, f, "damaged")
	}
}
