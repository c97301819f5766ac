package shim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// The test binary is the shim, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "shim":
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
			err := Run(ctx, os.Args[2], os.Stdin, os.Stdout)
			stop()
			exit(err)
		case "starter":
			exit(starter(os.Args[2]))
		case "caller":
			caller(os.Args[2])
			exit(nil)
		}
	}
	goleak.VerifyTestMain(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func testFleet(t *testing.T) *Fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcshim") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := openFleet(t, dir)
	t.Cleanup(func() {
		states, err := f.Running(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		for _, s := range states {
			if _, err := f.Stop(context.WithoutCancel(t.Context()), s.Name, nil, 0); err != nil {
				t.Error(err)
			}
		}
		f.Close()
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return f
}

// shimCommand runs this binary without the second that a program with the race
// detector sleeps at its end.
func shimCommand() []string {
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0 " + os.Getenv("GC_TEST_GORACE"), os.Args[0], "shim"}
}

func openFleet(t *testing.T, dir string) *Fleet {
	t.Helper()
	f, err := OpenFleet(FleetOptions{Dir: dir, Command: shimCommand()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func spec(name, command string) Spec {
	return Spec{
		Name: name, Instance: "token-of-" + name, Argv: []string{"/bin/sh", "-c", command}, Dir: os.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", proc.TokenKey + "=token-of-" + name}, Terminal: true,
		Cols: DefaultCols, Rows: DefaultRows, Scrollback: DefaultScrollback,
	}
}

func start(t *testing.T, f *Fleet, s Spec) *Client {
	t.Helper()
	c, err := f.Start(t.Context(), s)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return c
}

// frameWith waits for a frame whose redraw holds the text.
func frameWith(t *testing.T, c *Client, text string) Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var after uint64
	for {
		f, err := c.Frame(ctx, after)
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		if bytes.Contains(f.Redraw, []byte(text)) {
			return f
		}
		if f.Exited {
			t.Fatalf("the agent exited before it printed %q: %q", text, f.Redraw)
		}
		after = f.Seq
	}
}

func TestSessionOutlivesItsStarter(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("one", "echo ready; cat"))
	frameWith(t, c, "ready")
	if err := c.Send(t.Context(), []byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	frameWith(t, c, "hello")
	other := openFleet(t, f.opts.Dir)
	defer other.Close()
	sight, err := other.Observe(t.Context(), "one")
	if err != nil || sight.Client == nil || sight.Token != c.Token() {
		t.Fatalf("another fleet over the folder sees %+v, %v; want the live session", sight, err)
	}
	if _, err := other.Stop(t.Context(), "one", &c.token, time.Second); err != nil {
		t.Fatal(err)
	}
	for _, id := range []proc.ID{sight.Record.Shim, sight.Record.Root} {
		if alive, err := proc.Alive(id); err != nil || alive {
			t.Errorf("process %v is alive (%v) after the stop", id, err)
		}
	}
	if _, err := os.Stat(string(statedir.For(f.opts.Dir, "one"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := c.State(t.Context()); !errors.Is(err, ErrNoShim) {
		t.Errorf("State of a stopped session: %v, want ErrNone", err)
	}
}

func TestOneOfManyStartsWins(t *testing.T) {
	f := testFleet(t)
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { _, errs[i] = f.Start(t.Context(), spec("raced", "cat")) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrNameInUse) {
			t.Errorf("a losing start returned %v, want ErrTaken", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 20 starts won, want one", won)
	}
}

func TestCorpseIsReadableAndReplaced(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	for _, linger := range []bool{true, false} {
		c := start(t, f, spec("dead", "echo last words; exit 7"))
		waitFor(t, "the exit", func() bool {
			s, err := f.Observe(t.Context(), "dead")
			return err == nil && (s.Client != nil && s.State.Exit != nil || s.ExitRecord != nil)
		})
		if !linger {
			waitFor(t, "the shim's end", func() bool {
				s, err := f.Observe(t.Context(), "dead")
				return err == nil && s.ExitRecord != nil
			})
			s, err := f.Observe(t.Context(), "dead")
			if err != nil || s.ExitRecord.Exit.Code != 7 || !strings.Contains(s.ExitRecord.Text, "last words") {
				t.Fatalf("record %+v, %v; want exit 7 and its last words", s.ExitRecord, err)
			}
		}
		_ = c
	}
	if _, err := f.Stop(t.Context(), "dead", nil, 0); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Observe(t.Context(), "dead"); err != nil || s.Record != nil {
		t.Errorf("after the stop there is still %+v, %v", s, err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// Processes that detach, ignore signals and hold the terminal open are gone after
// a stop.
func TestStopEndsTheWholeTree(t *testing.T) {
	f := testFleet(t)
	pids := filepath.Join(t.TempDir(), "pids")
	script := fmt.Sprintf(`trap '' TERM HUP
setsid sh -c 'trap "" TERM HUP; echo $$ >> %[1]s; while :; do sleep 1000; done' &
(setsid sh -c 'trap "" TERM HUP; echo $$ >> %[1]s; sleep 1000; sleep 1000' &) &
echo $$ >> %[1]s; echo up; while :; do sleep 1000; done`, pids)
	c := start(t, f, spec("stubborn", script))
	frameWith(t, c, "up")
	waitFor(t, "three pids", func() bool {
		b, err := os.ReadFile(pids)
		return err == nil && bytes.Count(b, []byte("\n")) == 3
	})
	report, err := f.Stop(t.Context(), "stubborn", nil, 300*time.Millisecond)
	if err != nil || report.Found < 3 || report.Killed < 3 {
		t.Fatalf("Stop found %+v, %v; want at least three found and killed", report, err)
	}
	if left, err := proc.FindByEnv(proc.TokenKey, "token-of-stubborn"); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestKilledShimIsLostNotDead(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("lost", "trap '' HUP; echo up; while :; do sleep 1000; done"))
	frameWith(t, c, "up")
	s, err := f.Observe(t.Context(), "lost")
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(s.Record.Shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss", func() bool {
		s, err := f.Observe(t.Context(), "lost")
		return err == nil && s.IsLost()
	})
	if _, err := f.Start(t.Context(), spec("lost", "cat")); !errors.Is(err, ErrOrphanProcesses) {
		t.Errorf("Start beside orphans returned %v, want ErrOrphans", err)
	}
	if _, err := f.Stop(t.Context(), "lost", nil, 0); err != nil {
		t.Fatal(err)
	}
	if left, err := proc.FindByEnv(proc.TokenKey, "token-of-lost"); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	start(t, f, spec("lost", "cat"))
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	f := testFleet(t)
	for after := time.Duration(0); after < 40*time.Millisecond; after += 2 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := f.Start(ctx, spec("cancelled", "sleep 1000"))
		cancel()
		if err == nil {
			if _, err := f.Stop(t.Context(), "cancelled", nil, 0); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v, want the deadline", after, err)
		}
		if left, err := proc.FindByEnv(proc.TokenKey, "token-of-cancelled"); err != nil || len(left) > 0 {
			t.Errorf("after %v left over: %v, %v", after, left, err)
		}
		if s, err := f.Observe(t.Context(), "cancelled"); err != nil || s.Client != nil || s.Busy {
			t.Errorf("after %v the session is %+v, %v", after, s, err)
		}
	}
}

func TestStaleTokenTouchesNothing(t *testing.T) {
	f := testFleet(t)
	old := start(t, f, spec("name", "cat"))
	if _, err := f.Stop(t.Context(), "name", nil, 0); err != nil {
		t.Fatal(err)
	}
	again := spec("name", "cat")
	again.Instance = "another"
	start(t, f, again)
	if err := old.Send(t.Context(), []byte("x")); !errors.Is(err, ErrStale) {
		t.Errorf("Send with the previous token: %v, want ErrStale", err)
	}
	if _, err := f.Stop(t.Context(), "name", &old.token, 0); !errors.Is(err, ErrStale) {
		t.Errorf("Stop with the previous token: %v, want ErrStale", err)
	}
	if s, err := f.Observe(t.Context(), "name"); err != nil || s.Client == nil {
		t.Errorf("the successor is %+v, %v; want alive", s, err)
	}
}

func TestWatchSeesEverySession(t *testing.T) {
	f := testFleet(t)
	other := openFleet(t, f.opts.Dir)
	defer other.Close()
	seen := make(chan SessionEvent, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Watch(ctx, func(s SessionEvent) { seen <- s }) }()
	// The events of one session have no fixed order: an instance that replaces another one may report its state before it appears.
	// An exit is an event of its own, or a part of the state if the connection was opened again.
	expect := func(name string, kinds ...EventKind) {
		t.Helper()
		for len(kinds) > 0 {
			select {
			case s := <-seen:
				if s.Name == name {
					kinds = slices.DeleteFunc(kinds, func(k EventKind) bool { return s.Kind == k || k == EventExited && s.Exit != nil })
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("no event %v of %q", kinds, name)
			}
		}
	}
	expect("", EventResync)
	for range 3 {
		start(t, other, spec("w", "echo hi; read x; exit 3"))
		expect("w", EventAppeared, EventState)
		c := start(t, f, spec("stopped", "cat"))
		expect("stopped", EventAppeared)
		if _, err := other.Stop(t.Context(), "stopped", &c.token, 0); err != nil {
			t.Fatal(err)
		}
		expect("stopped", EventGone)
		s, err := other.Observe(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Client.Keys(t.Context(), []string{"Enter"}); err != nil {
			t.Fatal(err)
		}
		expect("w", EventExited)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v", err)
	}
}

// A session that has ended before the watcher looks at its folder was never reported. When the folder is removed, the
// watcher learns that it has missed something.
func TestWatchReportsThatItMissedASession(t *testing.T) {
	f := testFleet(t)
	brief := start(t, f, spec("brief", "cat"))
	entries, err := os.ReadDir(f.opts.Dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	dir := statedir.Folder(filepath.Join(f.opts.Dir, entries[0].Name()))
	record, err := os.ReadFile(dir.Record())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stop(t.Context(), "brief", &brief.token, 0); err != nil {
		t.Fatal(err)
	}
	seen := make(chan SessionEvent, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Watch(ctx, func(s SessionEvent) { seen <- s }) }()
	defer func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v", err)
		}
	}()
	await := func(name string, kind EventKind) {
		t.Helper()
		for {
			select {
			case s := <-seen:
				if s.Name == name && s.Kind == kind {
					return
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("no event %s of %q", kind, name)
			}
		}
	}
	await("", EventResync) // the first event of each watch
	ended := filepath.Join(t.TempDir(), "ended")
	left := statedir.Folder(ended)
	if err := errors.Join(os.Mkdir(ended, 0o700), os.WriteFile(left.Record(), record, 0o600), os.WriteFile(left.Lock(), nil, 0o600), os.Rename(ended, string(dir))); err != nil {
		t.Fatal(err)
	}
	start(t, f, spec("later", "cat"))
	await("later", EventAppeared) // so the watcher has looked at the folder
	if err := os.RemoveAll(string(dir)); err != nil {
		t.Fatal(err)
	}
	await("", EventResync)
}

func TestPipesHaveNoTerminal(t *testing.T) {
	f := testFleet(t)
	s := spec("pipe", "echo to stdout; echo to stderr >&2; read line; echo got $line; sleep 1000")
	s.Terminal = false
	c := start(t, f, s)
	if err := c.Send(t.Context(), []byte("text\n")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the answer", func() bool {
		text, err := c.Text(t.Context(), 0)
		return err == nil && text == "to stdout\nto stderr\ngot text"
	})
	if err := c.Keys(t.Context(), []string{"Enter"}); err == nil {
		t.Error("keys to a session without a terminal succeed")
	}
}

// A process that does not read its input blocks the writer no longer than the
// writer wants.
func TestSendObeysItsContext(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("deaf", "stty raw -echo; echo up; sleep 1000"))
	frameWith(t, c, "up")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := c.Send(ctx, bytes.Repeat([]byte("x"), 1<<20)); err == nil {
		t.Error("a megabyte to a process that does not read was accepted")
	}
	if _, err := c.State(t.Context()); err != nil {
		t.Errorf("State while input is blocked: %v", err)
	}
}

func TestRelaunchKeepsTheInstance(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("warm", "echo first; sleep 1000"))
	frameWith(t, c, "first")
	if err := c.SetMeta(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	before, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "echo second $" + proc.TokenKey + "; cat"}, 0); err != nil {
		t.Fatal(err)
	}
	frameWith(t, c, "second token-of-warm")
	after, err := c.State(t.Context())
	if err != nil || after.Root == before.Root || after.Shim != before.Shim {
		t.Errorf("after the relaunch %+v, %v; want another root in the same shim", after, err)
	}
	if v, set, err := c.Meta(t.Context(), "k"); err != nil || !set || v != "v" {
		t.Errorf("Meta after relaunch: %q %v %v", v, set, err)
	}
	if text, err := c.Text(t.Context(), 0); err != nil || !strings.Contains(text, "first") {
		t.Errorf("scrollback after relaunch: %q, %v; want the previous output kept", text, err)
	}
}
