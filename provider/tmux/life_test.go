package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestNothingIsStartedByAsking(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Do(withDeadline(t), cmd("list-sessions")); !errors.Is(err, errNoServer) {
		t.Errorf("Do: got %v, want errNoServer", err)
	}
	if _, err := client.Attach(withDeadline(t)); !errors.Is(err, errNoServer) {
		t.Errorf("Attach: got %v, want errNoServer", err)
	}
	if _, err := os.Stat(o.Socket); err == nil {
		t.Error("a server was started")
	}
}

func TestTheServerOutlivesTheClient(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	server, err := client.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	startPane(t, client, "x", "cat")
	if err := client.Close(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	if pids := clientProcesses(t, o.Socket); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
	if _, err := client.Do(withDeadline(t), cmd("list-sessions")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: got %v, want errClosed", err)
	}
	if _, err := client.Start(withDeadline(t)); !errors.Is(err, errClosed) {
		t.Errorf("Start after Close: got %v, want errClosed", err)
	}
	second := testClient(t, o)
	mustOutput(t, second, cmd("has-session", "-t", "=x")) // takes up what listens
	if again, _, ok := second.Server(); !ok || again != server {
		t.Errorf("the second client found %v, want %v", again, server)
	}
}

func TestTheEnvironmentIsOnlyWhatWasGiven(t *testing.T) {
	t.Setenv("GC_TEST_SECRET", "x")
	t.Setenv("TMUX", "/nowhere,1,1")
	client := startedClient(t)
	if out := mustOutput(t, client, cmd("show-environment", "-g")); strings.Contains(out, "SECRET") || strings.Contains(out, "nowhere") {
		t.Errorf("the server has %s", out)
	}
}

func TestAKilledClientProcessIsReplaced(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	server, err := client.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	id := startPane(t, client, "x", "cat")
	for range 3 {
		killClient(t, o.Socket)
		resyncs := 0
		awaitEvent(t, events, "a resync", func(e controlEvent) bool { return e.Kind == eventResync })
		if now := mustOutput(t, client, cmd("display-message", "-p", "-t", id, "#{pid} #{pane_id}")); now != fmt.Sprint(server.PID, " ", id) {
			t.Fatalf("after the kill: %s, want %d %s", now, server.PID, id)
		}
		mustOutput(t, client, cmd("send-keys", "-t", id, "-l", "--", "x"))
		awaitEvent(t, events, "output", func(e controlEvent) bool {
			if e.Kind == eventResync || e.Kind == eventServerLost {
				resyncs++
			}
			return e.Kind == eventOutput && e.Pane == id
		})
		if resyncs != 0 {
			t.Errorf("%d more losses were reported", resyncs)
		}
	}
}

func TestCommandsInFlightNeverHang(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(withDeadline(t))
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				want := fmt.Sprint(worker, "-", n)
				reply, err := client.Do(ctx, cmd("display-message", "-p", want))
				_, refused := client.Do(ctx, cmd("has-session", "-t", "=none"))
				switch {
				case errors.Is(err, errInterrupted) || errors.Is(refused, errInterrupted) || ctx.Err() != nil:
				case err != nil || !errors.Is(refused, errNotFound):
					t.Errorf("got %v and %v, want errNotFound", err, refused)
				case string(reply.Output) != want:
					t.Errorf("a reply of somebody else: %s, want %s", reply.Output, want)
				}
			}
		})
	}
	events := client.Subscribe()
	defer events.Close()
	for range 5 {
		killClient(t, o.Socket)
		awaitEvent(t, events, "a resync", ofKind(eventResync))
		mustOutput(t, client, cmd("display-message", "-p", "x"))
	}
	stop()
	all.Wait()
}

func TestALostServerIsToldOnceAndNotReplaced(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	server, err := client.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	awaitEvent(t, events, "the loss", ofKind(eventServerLost))
	t.Logf("the loss was reported after %v", time.Since(begin))
	if _, _, ok := client.Server(); ok {
		t.Error("the client still names a server")
	}
	// A server of somebody else at the same path is not the old one.
	other := testClient(t, o)
	if _, err := other.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(withDeadline(t), cmd("list-sessions")); !errors.Is(err, errServerLost) {
		t.Errorf("Do: got %v, want errServerLost", err)
	}
	again, err := client.Start(withDeadline(t))
	if err != nil || again.PID == server.PID {
		t.Fatalf("Start: %v, %v", again, err)
	}
	if event, err := events.Next(withDeadline(t)); err != nil || event.Kind != eventResync {
		t.Errorf("after the loss: %v %v, want one eventResync", event, err)
	}
	mustOutput(t, client, cmd("list-sessions"))
}

func TestAServerThatEndsOrderlyIsLost(t *testing.T) {
	client := startedClient(t)
	events := client.Subscribe()
	defer events.Close()
	if _, err := client.Do(withDeadline(t), cmd("kill-server")); err != nil && !errors.Is(err, errInterrupted) {
		t.Errorf("kill-server: %v", err)
	}
	awaitEvent(t, events, "the loss", ofKind(eventServerLost))
	if _, err := client.Do(withDeadline(t), cmd("list-sessions")); !errors.Is(err, errServerLost) {
		t.Errorf("got %v, want errServerLost", err)
	}
}

func TestAServerThatWasReplacedWhileWeWereAwayIsNotAdopted(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	server, err := client.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	// The path is given to another server while the old one still lives; then our process dies.
	if err := os.Remove(o.Socket); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(withDeadline(t), o.Binary, "-S", o.Socket, "-f", "/dev/null", "new-session", "-d", "cat").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGKILL) }) // ours: started above
	for _, pid := range clientProcesses(t, o.Socket) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	lost := awaitEvent(t, events, "the loss", ofKind(eventServerLost))
	if !strings.Contains(lost.Text, "another server") {
		t.Errorf("the reason is %q", lost.Text)
	}
}

func TestTwoThatStartAtOnceEndWithOneServer(t *testing.T) {
	for round := range 5 {
		o := testOptions(t)
		if round%2 == 1 { // a socket without a listener
			listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.Socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			listener.SetUnlinkOnClose(false)
			listener.Close()
		}
		var servers [4]serverProcess
		var all sync.WaitGroup
		for i := range servers {
			client := testClient(t, o)
			all.Go(func() {
				var err error
				if servers[i], err = client.Start(withDeadline(t)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, server := range servers {
			if server.PID != servers[0].PID {
				t.Fatalf("several servers: %v", servers)
			}
		}
	}
}

func TestPathsThatCannotBeAreRefused(t *testing.T) {
	o := testOptions(t)
	long := o
	long.Socket = "/tmp/" + strings.Repeat("x", 99)
	if _, err := newControlClient(long); !errors.Is(err, errSocketPath) {
		t.Errorf("104 bytes: got %v", err)
	}
	for name, prepare := range map[string]func(dir string) string{
		"a file": func(dir string) string {
			return filepath.Join(dir, "s")
		},
		"a folder of everybody": func(dir string) string {
			open := filepath.Join(dir, "open")
			if err := os.Mkdir(open, 0o755); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(open, "s")
		},
	} {
		bad := o
		dir := t.TempDir()
		if bad.Socket = prepare(dir); name == "a file" {
			if err := os.WriteFile(bad.Socket, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if len(bad.Socket) > 103 {
			t.Skipf("the temporary folder is too long: %s", bad.Socket)
		}
		if _, err := testClient(t, bad).Start(withDeadline(t)); !errors.Is(err, errSocketPath) {
			t.Errorf("%s: got %v, want errSocketPath", name, err)
		}
		if name == "a file" {
			if kept, err := os.ReadFile(bad.Socket); string(kept) != "kept" {
				t.Errorf("the file is gone: %v", err)
			}
		}
	}
}

func TestAMissingTmuxIsOneClearError(t *testing.T) {
	o := testOptions(t)
	o.Binary, o.Path = "tmux", t.TempDir()
	_, err := testClient(t, o).Start(withDeadline(t))
	if !errors.Is(err, errNoTmux) || !strings.Contains(err.Error(), o.Path) {
		t.Errorf("got %v, want errNoTmux that names %s", err, o.Path)
	}
}

func TestAStoppedServerHoldsNobodyLongerThanTheirContext(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	server, err := client.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGKILL) }) // ours: started above
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Do(ctx, cmd("list-sessions")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do: got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if pids := clientProcesses(t, o.Socket); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
}
