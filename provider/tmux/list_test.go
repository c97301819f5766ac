package tmux_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gascity/provider/tmux"
	"gascity/runtime"
)

// A cached list always has the changes that other processes made before the call.
func TestListHasChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	other, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	r.shell("stays", "exec cat", nil)
	cfg := runtime.Config{Command: "exec cat", WorkDir: r.dir}
	want := func(names ...string) {
		t.Helper()
		for range 3 { // the first one may ask the server, the others do not
			if got, err := r.ListRunning(""); err != nil || !slices.Equal(got, names) {
				t.Fatalf("ListRunning = %q, %v, want %q", got, err, names)
			}
		}
	}
	for range 5 {
		want("stays")
		if err := other.Start(t.Context(), "comes", cfg); err != nil {
			t.Fatal(err)
		}
		want("comes", "stays")
		r.runTmux("kill-session", "-t", "=stays")
		until(t, "the killed session is gone", func() bool {
			names, err := r.ListRunning("")
			return err == nil && slices.Equal(names, []string{"comes"})
		})
		until(t, "that is reported", func() bool {
			obs, err := r.Observe(t.Context(), "stays")
			return err == nil && obs.Session == runtime.Dead && strings.Contains(obs.Cause, "closed inside tmux")
		})
		if err := errors.Join(other.Stop("stays"), other.Start(t.Context(), "stays", cfg), other.Stop("comes")); err != nil {
			t.Fatal(err)
		}
	}
	want("stays")
}

// An exited agent is in no list. After its relaunch by another process it is in the next list.
func TestListFollowsExitAndRelaunch(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	other, err := tmux.Open(config(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(r.dir, "end")
	cfg := runtime.Config{Command: "while ! [ -e " + file + " ]; do sleep 0.02; done", WorkDir: r.dir}
	if err := r.Start(t.Context(), "s", cfg); err != nil {
		t.Fatal(err)
	}
	lists := func(n int) bool {
		names, err := r.ListRunning("")
		return err == nil && len(names) == n
	}
	for range 3 {
		for range 2 { // the second one from the cache
			if !lists(1) {
				t.Fatal("the session is not listed")
			}
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, "the agent has ended", func() bool {
			obs, err := other.Observe(t.Context(), "s")
			return err == nil && obs.Agent == runtime.Dead
		})
		until(t, "the list says so", func() bool { return lists(0) })
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := other.Relaunch(t.Context(), "s", cfg); err != nil {
			t.Fatal(err)
		}
		if !lists(1) {
			t.Fatal("after the relaunch the session is not listed")
		}
	}
}

// An exit of the server is a warning only if it was not requested.
func TestUnrequestedExitOfTheServerIsAWarning(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"asked for", "killed"} {
		var log bytes.Buffer
		var mu sync.Mutex
		r := newTestCity(t, func(cfg *tmux.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(locked{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		told := func() string {
			mu.Lock()
			defer mu.Unlock()
			return log.String()
		}
		r.shell("s", "exec cat", nil)
		if how == "killed" {
			r.runTmux("kill-server")
		} else if err := errors.Join(r.Stop("s"), r.TeardownServer()); err != nil {
			t.Fatal(err)
		}
		until(t, how+": the loss is reported", func() bool { return strings.Contains(told(), "the tmux server is lost") })
		if got := strings.Contains(told(), "level=WARN"); got != (how == "killed") {
			t.Errorf("%s: warned = %v:\n%s", how, got, told())
		}
	}
}

// locked is a writer for several goroutines.
type locked struct {
	*sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.to.Write(p)
}

// A control client whose owner was killed during the connection is not listed by the server, and must not
// prevent its exit.
func TestTeardownKillsOrphanedClients(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	r.shell("s", "exec cat", nil)
	socket := filepath.Join(r.dir, "tmux", "s")
	for range 3 {
		orphan := exec.Command("sh", "-c", "exec tmux -S "+socket+" -C attach-session -t =~gc: </dev/null") // the teardown ends it
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		orphan.Stdout = write // no process reads it
		if err := orphan.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = errors.Join(orphan.Wait(), read.Close(), write.Close()) })
	}
	if err := errors.Join(r.Stop("s"), r.TeardownServer(), serverless(r.dir)); err != nil {
		t.Error(err)
	}
}
