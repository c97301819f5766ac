package tmux

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// openTestServer returns a server of a folder of its own, which is shut at the end.
func openTestServer(t *testing.T, socket string) *tmuxServer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "gchost") //nolint:usetesting // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SECRET=of the agents", "LANG=C.UTF-8"}
	s, err := openServer(Config{
		Dir: dir, Socket: socket, Binary: "tmux", Env: env, Environ: env, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), s.client.Close(ctx)); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return s
}

func startServer(t *testing.T) *tmuxServer {
	t.Helper()
	s := openTestServer(t, "s")
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, s *tmuxServer, command tmuxCommand) string {
	t.Helper()
	reply, err := s.Query(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply.Output)
}

// raiseServer makes a pane of ours with its name and its place in the hub.
func raiseServer(t *testing.T, s *tmuxServer, name, command string) {
	t.Helper()
	target := "=" + name + ":"
	ask(t, s, sequence(
		cmd("new-session", "-d", "-s", name, "-x", "200", "-y", "50", command),
		cmd("set-option", "-p", "-t", target, "@"+optionInstance, "hash-of-"+name),
		cmd("set-option", "-p", "-t", target, "@"+optionSession, name),
		cmd("link-window", "-d", "-s", target, "-t", "="+hub+":"),
	))
}

func TestWithoutAServerNothingIsStarted(t *testing.T) {
	t.Parallel()
	s := openTestServer(t, "s")
	if _, err := s.Query(t.Context(), cmd("display-message", "-p", ".")); !isAbsent(err) {
		t.Errorf("a question = %v", err)
	}
	if err := s.Configure(t.Context()); !isAbsent(err) {
		t.Errorf("Configure = %v", err)
	}
	if _, err := os.Stat(s.socket); err == nil {
		t.Error("there is a socket")
	}
}

func TestSocketHasAShortPathOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a/b", "..", "."} {
		if _, err := openServer(Config{Dir: t.TempDir(), Socket: bad, Binary: "tmux"}); err == nil {
			t.Errorf("a socket may be called %q", bad)
		}
	}
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 60), strings.Repeat("e", 60))
	one, err := openServer(Config{Dir: deep, Socket: "s", Binary: "tmux"})
	if err != nil {
		t.Fatal(err)
	}
	two, err := openServer(Config{Dir: deep, Socket: "t", Binary: "tmux"})
	if err != nil {
		t.Fatal(err)
	}
	if len(one.socket) > 103 || one.socket == two.socket {
		t.Errorf("the sockets are %q and %q", one.socket, two.socket)
	}
	if _, err := os.Stat(filepath.Dir(one.socket)); err == nil {
		t.Error("there is a folder and no server")
	}
}

// Of a server whose socket lies elsewhere nothing is left there, and it can be started again.
func TestNothingIsLeftElsewhere(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	s, err := openServer(Config{
		Dir: filepath.Join(t.TempDir(), strings.Repeat("d", 120)), Socket: "s", Binary: "tmux", Env: env, Environ: env, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close(context.WithoutCancel(t.Context())) }) // its server is shut
	for range 2 {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.RemoveFiles(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pid := ask(t, s, cmd("display-message", "-p", "#{pid}")); pid == "" {
			t.Error("the server does not answer any more")
		}
		if err := errors.Join(s.Shutdown(t.Context()), s.RemoveFiles(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Dir(s.socket)); err == nil {
			t.Errorf("%s is left", filepath.Dir(s.socket))
		}
	}
}

// The server has what programs need to run and no more, and every line of its configuration
// is understood.
func TestServerIsConfigured(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if env := ask(t, s, cmd("show-environment", "-g")); strings.Contains(env, "SECRET") || !strings.Contains(env, "PATH=") {
		t.Errorf("the server's environment is %s", env)
	}
	if err := s.Configure(t.Context()); err != nil {
		t.Errorf("its configuration: %v", err)
	}
	table := ask(t, s, cmd("show-options", "-gv", "key-table"))
	if ask(t, s, cmd("display-message", "-p", "#{>=:#{version},3.3}")) == "0" { // it could not send a key on
		if table != "root" {
			t.Errorf("the key table of people is %q", table)
		}
		return
	}
	if table != keyTable {
		t.Errorf("the key table of people is %q", table)
	}
	keys := ask(t, s, cmd("list-keys", "-T", keyTable))
	for _, key := range []string{"Any", `C-\\`, "WheelUpPane"} {
		if !strings.Contains(keys, " "+key+" ") {
			t.Errorf("%s is not bound in\n%s", key, keys)
		}
	}
}

// Panes of people are none of ours, a session that a person killed is a stray, and the list
// of what runs is never behind what was done.
func TestListTellsWhatIsOurs(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	raiseServer(t, s, "one", "exec cat")
	raiseServer(t, s, "two", "exec cat")
	ask(t, s, cmd("new-session", "-d", "-s", "theirs", "exec cat"))
	names, err := s.Running(t.Context())
	if err != nil || strings.Join(names, " ") != "one two" {
		t.Fatalf("Running = %q, %v", names, err)
	}
	all, strays, err := s.List(t.Context())
	if err != nil || len(all) != 2 || len(strays) != 0 {
		t.Fatalf("List = %+v, %+v, %v", all, strays, err)
	}
	ask(t, s, cmd("kill-session", "-t", "=two"))
	if all, strays, err = s.List(t.Context()); err != nil || len(all) != 1 || len(strays) != 1 || strays[0].Name != "two" {
		t.Fatalf("List = %+v, %+v, %v", all, strays, err)
	}
	if all, strays, err := s.ListNamed(t.Context(), "two"); err != nil || len(all) != 0 || len(strays) != 1 || strays[0].Name != "two" {
		t.Fatalf("ListNamed = %+v, %+v, %v", all, strays, err)
	}
	if all, strays, err := s.ListNamed(t.Context(), "one"); err != nil || len(all) != 1 || len(strays) != 0 || all[0].Name != "one" {
		t.Fatalf("ListNamed = %+v, %+v, %v", all, strays, err)
	}
	s.Sweep(t.Context(), strays)
	if names, err = s.Running(t.Context()); err != nil || strings.Join(names, " ") != "one" {
		t.Errorf("Running = %q, %v", names, err)
	}
	if _, err := s.Query(t.Context(), all[0].Kill()); err != nil && !errors.Is(err, errNotFound) { // with its last window
		t.Fatal(err)
	}
	if names, err = s.Running(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("Running = %q, %v", names, err)
	}
}

// How a program ended is reported when the server knows it, and not before.
func TestSettledKnowsTheEnd(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	raiseServer(t, s, "one", "exit 7")
	all, _, err := s.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("List = %+v, %v", all, err)
	}
	for !all[0].Dead {
		if all[0], err = s.FinalState(t.Context(), all[0].Pane, all[0].Hash, all[0].Pane); err != nil {
			t.Fatal(err)
		}
	}
	if end, err := s.FinalState(t.Context(), all[0].Pane, all[0].Hash, all[0].Pane); err != nil || !end.Collected || end.Exit.Code != 7 {
		t.Errorf("Settled = %+v, %v", end, err)
	}
	if _, err := s.FinalState(t.Context(), all[0].Pane, "another", all[0].Pane); !errors.Is(err, errNotOurs) {
		t.Errorf("another instance = %v", err)
	}
	if _, err := s.FinalState(t.Context(), "%99", all[0].Hash, "%99"); !errors.Is(err, errNotOurs) {
		t.Errorf("no pane = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("hash name %1 @1 $1 0    123 1 1795296637 1795296638 1795296638 200 50 a title of words")
	f.Add("hash name %1 @1 $1 1 3  1795296638 123 0  1795296638 1795296638 200 50 ")
	f.Add("                ")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseState(line)
		if err == nil && s.Hash == "" {
			t.Errorf("%q is a pane without an owner: %+v", line, s)
		}
		if err == nil && s.Collected && !s.Dead {
			t.Errorf("%q has ended and lives: %+v", line, s)
		}
	})
}

// While another process starts the server, RestoreSocket waits: it must not make the server replace the socket that clients
// are about to use. Configure restores a socket while it holds the lock itself.
func TestRestoreSocketWaitsForAStart(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	before, err := os.Lstat(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	var lock *os.File
	// A program that another test starts holds the lock of Start, too, until it runs.
	if err := retryBusy(t.Context(), func() (err error) { lock, err = tryLock(s.lock()); return err }); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.Rename(s.socket, s.socket+".starting"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.RestoreSocket(t.Context()) }()
	select {
	case err := <-done:
		t.Fatalf("RestoreSocket did not wait: %v", err)
	case <-time.After(time.Second):
	}
	if err := errors.Join(os.Rename(s.socket+".starting", s.socket), lock.Close(), <-done); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Lstat(s.socket); err != nil || !os.SameFile(before, after) {
		t.Errorf("the socket was replaced: %v", err)
	}
}

func TestConfigureRestoresTheSocket(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	env := []string{"PATH=" + os.Getenv("PATH")}
	other, err := openServer(Config{
		Dir: filepath.Dir(s.socket), Socket: "s", Binary: "tmux", Env: env, Environ: env, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.client.Close(context.WithoutCancel(t.Context())) }) // its server is shut
	if err := os.Remove(s.socket); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := other.Configure(ctx); err != nil {
		t.Error(err)
	}
}
