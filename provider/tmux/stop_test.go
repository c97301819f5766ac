package tmux_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/provider/tmux"
	"gascity/runtime"
)

// leaves is a shell command that starts a process which leaves its parent and its terminal session, writes its pid into the
// file, and ignores SIGTERM. with is what it does first.
func leaves(file, with string) string {
	return "setsid sh -c '" + with + " sh -c \"trap : TERM; echo \\$\\$ >" + file + ".new; mv " + file + ".new " + file + "; while :; do sleep 1000; done\" & :' & "
}

// left returns the process that a command of leaves started.
func left(t *testing.T, file string) proc.ID {
	t.Helper()
	until(t, "the process has left", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Signal(info.ID, syscall.SIGKILL) }) // it has exited
	return info.ID
}

func wantGone(t *testing.T, id proc.ID) {
	t.Helper()
	if alive, err := proc.Alive(id); alive || err != nil {
		t.Errorf("process %v: alive %v, %v", id, alive, err)
	}
}

// Stop finds every process of the agent, also outside of its process tree.
func TestStopFindsDetachedProcesses(t *testing.T) {
	t.Parallel()
	quick := func(cfg *tmux.Config) { cfg.StopGrace = 100 * time.Millisecond }
	t.Run("without its environment", func(t *testing.T) { // a subreaper needs no mark
		t.Parallel()
		r := newTestCity(t, quick)
		file := filepath.Join(r.dir, "pid")
		r.shell("s", leaves(file, "exec env -i")+"exec cat", nil)
		id := left(t, file)
		if err := r.Stop("s"); err != nil {
			t.Fatal(err)
		}
		wantGone(t, id)
	})
	t.Run("with a killed waiter", func(t *testing.T) { // the mark remains
		t.Parallel()
		r := newTestCity(t, quick)
		file := filepath.Join(r.dir, "pid")
		r.shell("s", leaves(file, "exec")+"exec cat", nil)
		id := left(t, file)
		agent, err := proc.Stat(agentOf(t, r, "s"))
		if err != nil {
			t.Fatal(err)
		}
		waiter, err := proc.Stat(agent.PPID)
		if err == nil {
			err = proc.Signal(waiter.ID, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Stop("s"); err != nil {
			t.Fatal(err)
		}
		wantGone(t, id)
	})
	t.Run("from a setup command", func(t *testing.T) { // it is no descendant of the pane
		t.Parallel()
		r := newTestCity(t, quick)
		file := filepath.Join(r.dir, "pid")
		cfg := runtime.Config{Command: "exec cat", WorkDir: r.dir, SessionSetup: []string{leaves(file, "exec") + ":"}}
		if err := r.Start(t.Context(), "s", cfg); err != nil {
			t.Fatal(err)
		}
		id := left(t, file)
		if err := r.Stop("s"); err != nil {
			t.Fatal(err)
		}
		wantGone(t, id)
	})
	t.Run("from a live command", func(t *testing.T) {
		t.Parallel()
		r := newTestCity(t, quick)
		file := filepath.Join(r.dir, "pid")
		env := map[string]string{"GC_INSTANCE_TOKEN": "token-of-a-live-command"}
		r.shell("s", "exec cat", env)
		if err := r.RunLive("s", runtime.Config{WorkDir: r.dir, Env: env, SessionLive: []string{leaves(file, "exec") + ":"}}); err != nil {
			t.Fatal(err)
		}
		id := left(t, file)
		if err := r.Stop("s"); err != nil {
			t.Fatal(err)
		}
		wantGone(t, id)
	})
}

// agentOf returns the pid of the session's agent.
func agentOf(t *testing.T, r *testCity, name string) int {
	t.Helper()
	obs, err := r.Observe(t.Context(), name)
	if err != nil || obs.PID == 0 {
		t.Fatalf("%+v, %v", obs, err)
	}
	return obs.PID
}
