package tmuxserver_test

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

	"gascity/internal/tmuxserver"
)

func TestNothingIsStartedByAsking(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	if _, err := client.Do(limit(t), tmuxserver.Cmd("list-sessions")); !errors.Is(err, tmuxserver.ErrNoServer) {
		t.Errorf("Do: got %v, want ErrNoServer", err)
	}
	if _, err := client.Attach(limit(t)); !errors.Is(err, tmuxserver.ErrNoServer) {
		t.Errorf("Attach: got %v, want ErrNoServer", err)
	}
	if _, err := os.Stat(o.Socket); err == nil {
		t.Error("a server was started")
	}
}

func TestTheServerOutlivesTheClient(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	server, err := client.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	pane(t, client, "x", "cat")
	if err := client.Close(limit(t)); err != nil {
		t.Fatal(err)
	}
	if pids := clientProcesses(t, o.Socket); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
	if _, err := client.Do(limit(t), tmuxserver.Cmd("list-sessions")); !errors.Is(err, tmuxserver.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if _, err := client.Start(limit(t)); !errors.Is(err, tmuxserver.ErrClosed) {
		t.Errorf("Start after Close: got %v, want ErrClosed", err)
	}
	second := newClient(t, o)
	output(t, second, tmuxserver.Cmd("has-session", "-t", "=x")) // takes up what listens
	if again, _, ok := second.Server(); !ok || again != server {
		t.Errorf("the second client found %v, want %v", again, server)
	}
}

func TestTheEnvironmentIsOnlyWhatWasGiven(t *testing.T) {
	t.Setenv("GC_TEST_SECRET", "x")
	t.Setenv("TMUX", "/nowhere,1,1")
	client := started(t)
	if out := output(t, client, tmuxserver.Cmd("show-environment", "-g")); strings.Contains(out, "SECRET") || strings.Contains(out, "nowhere") {
		t.Errorf("the server has %s", out)
	}
}

func TestAKilledClientProcessIsReplaced(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	server, err := client.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	id := pane(t, client, "x", "cat")
	for range 3 {
		killClient(t, o.Socket)
		resyncs := 0
		await(t, events, "a resync", func(e tmuxserver.Event) bool { return e.Kind == tmuxserver.Resync })
		if now := output(t, client, tmuxserver.Cmd("display-message", "-p", "-t", id, "#{pid} #{pane_id}")); now != fmt.Sprint(server.PID, " ", id) {
			t.Fatalf("after the kill: %s, want %d %s", now, server.PID, id)
		}
		output(t, client, tmuxserver.Cmd("send-keys", "-t", id, "-l", "--", "x"))
		await(t, events, "output", func(e tmuxserver.Event) bool {
			if e.Kind == tmuxserver.Resync || e.Kind == tmuxserver.ServerLost {
				resyncs++
			}
			return e.Kind == tmuxserver.Output && e.Pane == id
		})
		if resyncs != 0 {
			t.Errorf("%d more losses were reported", resyncs)
		}
	}
}

func TestCommandsInFlightNeverHang(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(limit(t))
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				want := fmt.Sprint(worker, "-", n)
				reply, err := client.Do(ctx, tmuxserver.Cmd("display-message", "-p", want))
				_, refused := client.Do(ctx, tmuxserver.Cmd("has-session", "-t", "=none"))
				switch {
				case errors.Is(err, tmuxserver.ErrInterrupted) || errors.Is(refused, tmuxserver.ErrInterrupted) || ctx.Err() != nil:
				case err != nil || !errors.Is(refused, tmuxserver.ErrNotFound):
					t.Errorf("got %v and %v, want ErrNotFound", err, refused)
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
		await(t, events, "a resync", ofKind(tmuxserver.Resync))
		output(t, client, tmuxserver.Cmd("display-message", "-p", "x"))
	}
	stop()
	all.Wait()
}

func TestALostServerIsToldOnceAndNotReplaced(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	server, err := client.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	await(t, events, "the loss", ofKind(tmuxserver.ServerLost))
	t.Logf("the loss was reported after %v", time.Since(begin))
	if _, _, ok := client.Server(); ok {
		t.Error("the client still names a server")
	}
	// A server of somebody else at the same path is not the old one.
	other := newClient(t, o)
	if _, err := other.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(limit(t), tmuxserver.Cmd("list-sessions")); !errors.Is(err, tmuxserver.ErrServerLost) {
		t.Errorf("Do: got %v, want ErrServerLost", err)
	}
	again, err := client.Start(limit(t))
	if err != nil || again.PID == server.PID {
		t.Fatalf("Start: %v, %v", again, err)
	}
	if event, err := events.Next(limit(t)); err != nil || event.Kind != tmuxserver.Resync {
		t.Errorf("after the loss: %v %v, want one Resync", event, err)
	}
	output(t, client, tmuxserver.Cmd("list-sessions"))
}

func TestAServerThatEndsOrderlyIsLost(t *testing.T) {
	client := started(t)
	events := client.Subscribe()
	defer events.Close()
	if _, err := client.Do(limit(t), tmuxserver.Cmd("kill-server")); err != nil && !errors.Is(err, tmuxserver.ErrInterrupted) {
		t.Errorf("kill-server: %v", err)
	}
	await(t, events, "the loss", ofKind(tmuxserver.ServerLost))
	if _, err := client.Do(limit(t), tmuxserver.Cmd("list-sessions")); !errors.Is(err, tmuxserver.ErrServerLost) {
		t.Errorf("got %v, want ErrServerLost", err)
	}
}

func TestAServerThatWasReplacedWhileWeWereAwayIsNotAdopted(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	server, err := client.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	events := client.Subscribe()
	defer events.Close()
	// The path is given to another server while the old one still lives; then our process dies.
	if err := os.Remove(o.Socket); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(limit(t), o.Binary, "-S", o.Socket, "-f", "/dev/null", "new-session", "-d", "cat").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGKILL) }) // ours: started above
	for _, pid := range clientProcesses(t, o.Socket) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	lost := await(t, events, "the loss", ofKind(tmuxserver.ServerLost))
	if !strings.Contains(lost.Text, "another server") {
		t.Errorf("the reason is %q", lost.Text)
	}
}

func TestTwoThatStartAtOnceEndWithOneServer(t *testing.T) {
	for round := range 5 {
		o := options(t)
		if round%2 == 1 { // a socket without a listener
			listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.Socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			listener.SetUnlinkOnClose(false)
			listener.Close()
		}
		var servers [4]tmuxserver.ServerProcess
		var all sync.WaitGroup
		for i := range servers {
			client := newClient(t, o)
			all.Go(func() {
				var err error
				if servers[i], err = client.Start(limit(t)); err != nil {
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
	o := options(t)
	long := o
	long.Socket = "/tmp/" + strings.Repeat("x", 99)
	if _, err := tmuxserver.NewClient(long); !errors.Is(err, tmuxserver.ErrSocketPath) {
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
		if _, err := newClient(t, bad).Start(limit(t)); !errors.Is(err, tmuxserver.ErrSocketPath) {
			t.Errorf("%s: got %v, want ErrSocketPath", name, err)
		}
		if name == "a file" {
			if kept, err := os.ReadFile(bad.Socket); string(kept) != "kept" {
				t.Errorf("the file is gone: %v", err)
			}
		}
	}
}

func TestAMissingTmuxIsOneClearError(t *testing.T) {
	o := options(t)
	o.Binary, o.Path = "tmux", t.TempDir()
	_, err := newClient(t, o).Start(limit(t))
	if !errors.Is(err, tmuxserver.ErrNoTmux) || !strings.Contains(err.Error(), o.Path) {
		t.Errorf("got %v, want ErrNoTmux that names %s", err, o.Path)
	}
}

func TestAStoppedServerHoldsNobodyLongerThanTheirContext(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	server, err := client.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGKILL) }) // ours: started above
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Do(ctx, tmuxserver.Cmd("list-sessions")); !errors.Is(err, context.DeadlineExceeded) {
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
