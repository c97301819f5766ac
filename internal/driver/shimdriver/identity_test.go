package shimdriver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/runtime"
	"gascity/test/shimtest"
)

// The test binary is the shim, too.
func TestMain(m *testing.M) {
	shimtest.Main()
	os.Exit(m.Run())
}

func openTest(t *testing.T) (s *Sessions, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gclocal") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	s, err = OpenTerminals(Options{
		Dir: filepath.Join(dir, "s"), WorkDir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Shim: shimtest.Command(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		names, err := s.ListRunning("")
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if err := s.Stop(name); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return s, dir
}

// program copies sleep under a name of its own.
func program(t *testing.T, dir, name string) string {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("sleep is not installed")
	}
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func observe(t *testing.T, s *Sessions, name string) runtime.Observation {
	t.Helper()
	obs, err := s.Observe(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

// kill ends the process and waits until it is gone.
func kill(t *testing.T, id proc.ID) {
	t.Helper()
	if err := proc.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := proc.WaitGone(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// A shell that was left around a killed agent is not the agent, and every watcher
// gets an event to poll. An agent that started itself again under the same name is.
func TestShellAroundAKilledAgentIsNotTheAgent(t *testing.T) {
	s, dir := openTest(t)
	agent := program(t, dir, "myagent")
	cfg := runtime.Config{
		Command: agent + " 1000; echo again; until [ -e go ]; do sleep 0.01; done; " + agent + " 1001; echo left; cat", WorkDir: dir, ProcessNames: []string{"myagent"},
	}
	if err := s.Start(t.Context(), "a", cfg); err != nil {
		t.Fatal(err)
	}
	events, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := observe(t, s, "a")
	if first.Agent != runtime.Alive {
		t.Fatalf("the agent is %v", first.Agent)
	}
	if info, err := proc.Stat(first.PID); err != nil || info.Comm != "myagent" {
		t.Fatalf("the agent is said to be %v, %v", info, err)
	}
	kill(t, proc.ID{PID: first.PID, Start: first.StartTime})
	await(t, events, s, "a", "again", runtime.Dead)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); observe(t, s, "a").Agent != runtime.Alive; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) { // an agent that starts without output causes no event
			t.Fatal("the second agent is not alive")
		}
	}
	tree, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range tree {
		if token, ok, err := proc.EnvValue(info.PID, proc.TokenKey); err == nil && ok && token == first.InstanceToken && info.Comm == "myagent" {
			kill(t, info.ID)
		}
	}
	await(t, events, s, "a", "left", runtime.Dead)
	if !s.IsRunning("a") {
		t.Error("the session is gone with its agent")
	}
}

// await waits for the text on the screen and checks what the agent is then.
func await(t *testing.T, events <-chan runtime.Event, s *Sessions, name, text string, want runtime.Liveness) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		screen, err := s.Peek(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := observe(t, s, name).Agent; len(screen) >= len(text) && screen[len(screen)-len(text):] == text && got == want {
			return
		}
		select {
		case <-events:
		case <-deadline:
			t.Fatalf("the agent is %v, want %v; the screen is %q", observe(t, s, name).Agent, want, screen)
		}
	}
}

// What cannot be read is unknown, never dead.
func TestUnreadableIsUnknown(t *testing.T) {
	s, dir := openTest(t)
	if err := s.Start(t.Context(), "u", runtime.Config{Command: "cat", WorkDir: dir}); err != nil {
		t.Fatal(err)
	}
	obs := observe(t, s, "u")
	shimOf, err := proc.Stat(obs.PID)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := proc.Stat(shimOf.PPID)
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(parent.ID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proc.Signal(parent.ID, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	for state := parent.State; state != proc.StateStopped; {
		info, err := proc.Stat(parent.PID)
		if err != nil {
			t.Fatal(err)
		}
		state = info.State
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if obs, err := s.Observe(ctx, "u"); err == nil || obs.Session == runtime.Dead || obs.Agent == runtime.Dead {
		t.Errorf("a shim that does not answer: session %v, agent %v, %v; want unknown and an error", obs.Session, obs.Agent, err)
	}
}

// An agent is never said to be dead before it is known how it ended, also while its last
// words are being read.
func TestDeadWithItsExit(t *testing.T) {
	s, dir := openTest(t)
	cfg := runtime.Config{Command: "(for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do echo $i; sleep 0.02; done) & exec cat", WorkDir: dir}
	if err := s.Start(t.Context(), "d", cfg); err != nil {
		t.Fatal(err)
	}
	first := observe(t, s, "d")
	observed, err := s.fleet.Observe(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	kill(t, proc.ID{PID: first.PID, Start: first.StartTime})
	obs := observe(t, s, "d")
	if obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Signal != "killed" {
		t.Errorf("the agent is %v with exit %v, want dead with a signal", obs.Agent, obs.Exit)
	}
	if state, err := observed.Client.State(t.Context()); err != nil || state.Exit == nil {
		t.Errorf("%+v, %v", state.Exit, err)
	}
}
