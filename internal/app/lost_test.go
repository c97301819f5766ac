package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/proc"
	"gascity/runtime"
)

// TestAgentsAreFoundByTheirSessionID checks that the processes of agents can be found in the process table by the variable
// GC_SESSION_ID.
func TestAgentsAreFoundByTheirSessionID(t *testing.T) {
	d, root := newDaemon(t), newCity(t, twoAgents)
	r := runController(t, d, root)
	agent := r.until("echo", "running", isRunning)
	p, err := d.Provider(t.Context(), root, "pty")
	if err != nil {
		t.Fatal(err)
	}
	found, err := runtime.FindRuntimesBySessionID(p, agent.Session)
	want := runtime.LiveRuntime{SessionID: agent.Session, City: root, Epoch: 1, PID: agent.PID, ProviderName: agent.Session, IsTracked: true}
	if err != nil || !slices.Equal(found, []runtime.LiveRuntime{want}) {
		t.Errorf("found %+v, %v, want %+v", found, err, want)
	}
	r.stopCity()
}

const lostAgents = `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
tick_debounce = "50ms"
[[agents]]
name = "echo"
start_command = "trap '' HUP; while :; do sleep 1000; done"
[[agents]]
name = "sleeper"
start_command = "sleep 1000"
`

// TestALostAgentIsNamedAndStopped kills the shim of an agent and removes its directory, so that the agent runs without a session.
// It checks that the agent is not started a second time, that the doctor names it, and that the stop of the city ends and counts
// it.
func TestALostAgentIsNamedAndStopped(t *testing.T) {
	d, root := newDaemon(t), newCity(t, lostAgents)
	r := runController(t, d, root)
	agent := r.until("echo", "running", isRunning)
	r.until("sleeper", "running", isRunning)
	r.leave()
	choice, err := os.ReadFile(filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile))
	if err != nil {
		t.Fatal(err)
	}
	lost, err := proc.Stat(agent.PID)
	if err != nil {
		t.Fatal(err)
	}
	killShim(t, agent.PID, strings.TrimSpace(string(choice)))
	if alive, err := proc.Alive(lost.ID); !alive || err != nil {
		t.Fatalf("the agent ended with its terminal: %v, %v", alive, err)
	}
	if err := os.RemoveAll(strings.TrimSpace(string(choice))); err != nil {
		t.Fatal(err)
	}
	r = runController(t, d, root)
	r.until("sleeper", "adopted", isRunning)
	r.until("echo", "refused", func(a client.Agent) bool { return a.PID == 0 && a.State != client.StateRunning })
	named := false
	for end := time.Now().Add(30 * time.Second); !named && time.Now().Before(end); {
		if err := d.Doctor(t.Context(), root, func(f client.Finding) {
			named = named || f.Check == "processes" && f.Level == client.LevelProblem
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !named {
		t.Error("the doctor does not name the lost agent")
	}
	live, err := proc.AgentProcesses(root)
	copies := slices.DeleteFunc(live, func(p proc.AgentProcess) bool { return p.Session != agent.Session || p.SID != p.PID })
	if err != nil || len(copies) != 1 || copies[0].ID != lost.ID {
		t.Errorf("there are %+v, %v, want the lost agent alone", copies, err)
	}
	census := r.stopCity()
	if alive, err := proc.Alive(lost.ID); alive || err != nil {
		t.Errorf("after the stop the lost agent lives: %v, %v", alive, err)
	}
	counted := slices.ContainsFunc(census.Sessions, func(s client.StopResult) bool { return s.Session == agent.Session && s.Processes > 0 })
	if !census.Clean || !counted {
		t.Errorf("the stop reports %+v; want the lost agent among them", census)
	}
}

// killShim kills the shim that has started an agent.
func killShim(t *testing.T, agent int, dir string) {
	t.Helper()
	for pid := agent; ; {
		info, err := proc.Stat(pid)
		if err != nil {
			t.Fatal(err)
		}
		above, err := proc.Stat(info.PPID)
		if err != nil {
			t.Fatal(err)
		}
		argv, err := proc.Argv(above.PID)
		if err == nil && slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, dir) }) {
			if err := errors.Join(proc.Signal(above.ID, syscall.SIGKILL), proc.WaitGone(t.Context(), above.ID)); err != nil {
				t.Fatal(err)
			}
			return
		}
		pid = above.PID
	}
}

// TestStopRemovesWhatALostSessionLeft kills the shim and the agent of a session and checks that a stop of the city removes its
// socket and its record.
func TestStopRemovesWhatALostSessionLeft(t *testing.T) {
	d, root := newDaemon(t), newCity(t, twoAgents)
	r := runController(t, d, root)
	agent := r.until("echo", "running", isRunning)
	r.until("sleeper", "running", isRunning)
	r.leave()
	choice, err := os.ReadFile(filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(choice))
	info, err := proc.Stat(agent.PID)
	if err != nil {
		t.Fatal(err)
	}
	killShim(t, agent.PID, dir)
	if err := proc.Signal(info.ID, syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
		t.Fatal(err)
	}
	if err := proc.WaitGone(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	r = runController(t, d, root)
	if census := r.stopCity(); !census.Clean {
		t.Errorf("the stop reports %+v", census)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		left, _ := filepath.Glob(dir + "/*/*/*")
		t.Errorf("after the stop %s is there, with %v", dir, left)
	}
}
