package tmux

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
)

// clientDeadline is how long anything may take that should take no time.
const clientDeadline = 20 * time.Second

// tmuxBinary returns the tmux under test: GC_TEST_TMUX, or the one of PATH. Without one the test
// is skipped, or fails when GC_TEST_REQUIRE names tmux.
func tmuxBinary(t testing.TB) string {
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

// testOptions returns those of a server of this test alone, on a short path.
func testOptions(t testing.TB) clientOptions {
	t.Helper()
	program := tmuxBinary(t)
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
	return clientOptions{
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

// withDeadline returns the context of a test with the deadline.
func withDeadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), clientDeadline)
	t.Cleanup(cancel)
	return ctx
}

func testClient(t testing.TB, o clientOptions) *controlClient {
	t.Helper()
	client, err := newControlClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), clientDeadline)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return client
}

// startedClient returns a client of a server of its own.
func startedClient(t testing.TB) *controlClient {
	t.Helper()
	client := testClient(t, testOptions(t))
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	return client
}

// mustOutput returns what one command printed.
func mustOutput(t testing.TB, client *controlClient, command tmuxCommand) string {
	t.Helper()
	out, err := client.Output(withDeadline(t), command)
	if err != nil {
		line, _ := command.Line()
		t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

// startPane starts a session whose windows are linked into the hub and returns its pane.
func startPane(t testing.TB, client *controlClient, session string, argv ...string) string {
	t.Helper()
	id := mustOutput(t, client, cmd("new-session", append([]string{"-d", "-P", "-F", "#{pane_id}", "-x", "200", "-y", "50", "-s", session}, argv...)...))
	mustOutput(t, client, cmd("link-window", "-d", "-s", "="+session+":", "-t", "="+hub+":"))
	return id
}

// awaitEvent reads events until one is wanted.
func awaitEvent(t testing.TB, events *subscription, what string, wanted func(controlEvent) bool) controlEvent {
	t.Helper()
	ctx := withDeadline(t)
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

func ofKind(kind eventKind) func(controlEvent) bool {
	return func(event controlEvent) bool { return event.Kind == kind }
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
