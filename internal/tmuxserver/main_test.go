package tmuxserver_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity/internal/tmuxserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline is how long anything may take that should take no time.
const deadline = 20 * time.Second

// binary returns the tmux under test: GC_TEST_TMUX, or the one of PATH. Without one the test
// is skipped, or fails when GC_TEST_REQUIRE names tmux.
func binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("GC_TEST_TMUX"); path != "" {
		return path
	}
	path, err := exec.LookPath("tmux")
	if err != nil {
		if strings.Contains(os.Getenv("GC_TEST_REQUIRE"), "tmux") {
			t.Fatal("tmux is required by GC_TEST_REQUIRE and not installed")
		}
		t.Skip("tmux is not installed")
	}
	return path
}

// options returns those of a server of this test alone, on a short path.
func options(t testing.TB) tmuxserver.ClientOptions {
	t.Helper()
	program := binary(t)
	dir, err := os.MkdirTemp("/tmp", "tctl") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	t.Cleanup(func() {
		kill := exec.Command(program, "-S", socket, "kill-server")
		_ = kill.Run()        // it may have ended already
		_ = os.RemoveAll(dir) // the server may still be ending in it
	})
	return tmuxserver.ClientOptions{
		Socket: socket, Binary: program, Path: os.Getenv("PATH"), Config: "/dev/null", Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm"},
		Logger: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	if os.Getenv("GC_TEST_LOG") != "" {
		fmt.Fprintf(os.Stderr, "%s: %s", l.t.Name(), p)
	}
	return len(p), nil
}

// limit returns the context of a test with the deadline.
func limit(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t testing.TB, o tmuxserver.ClientOptions) *tmuxserver.Client {
	t.Helper()
	client, err := tmuxserver.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), deadline)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return client
}

// started returns a client of a server of its own.
func started(t testing.TB) *tmuxserver.Client {
	t.Helper()
	client := newClient(t, options(t))
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	return client
}

// output returns what one command printed.
func output(t testing.TB, client *tmuxserver.Client, command tmuxserver.Command) string {
	t.Helper()
	out, err := client.Output(limit(t), command)
	if err != nil {
		line, _ := command.Line()
		t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

// pane starts a session whose windows are linked into the hub and returns its pane.
func pane(t testing.TB, client *tmuxserver.Client, session string, argv ...string) string {
	t.Helper()
	id := output(t, client, tmuxserver.Cmd("new-session", append([]string{"-d", "-P", "-F", "#{pane_id}", "-x", "200", "-y", "50", "-s", session}, argv...)...))
	output(t, client, tmuxserver.Cmd("link-window", "-d", "-s", "="+session+":", "-t", "="+tmuxserver.Hub+":"))
	return id
}

// await reads events until one is wanted.
func await(t testing.TB, events *tmuxserver.Subscription, what string, wanted func(tmuxserver.Event) bool) tmuxserver.Event {
	t.Helper()
	ctx := limit(t)
	for {
		event, err := events.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if wanted(event) {
			return event
		}
	}
}

func ofKind(kind tmuxserver.EventKind) func(tmuxserver.Event) bool {
	return func(event tmuxserver.Event) bool { return event.Kind == kind }
}

// clientProcesses returns the children of this test that run tmux on the socket.
func clientProcesses(t testing.TB, socket string) []int {
	t.Helper()
	if goruntime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, file := range files {
		argv, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(argv, []byte(socket)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, pid)
		}
	}
	return found
}

// killClient ends the one control client of this test on the socket by force.
func killClient(t testing.TB, socket string) {
	t.Helper()
	pids := clientProcesses(t, socket)
	if len(pids) != 1 {
		t.Fatalf("%d client processes on %s, want 1", len(pids), socket)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
