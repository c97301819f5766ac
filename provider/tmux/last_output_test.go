package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/runtime"
)

// exited waits until the agent has exited, and returns the observation.
func (r *testCity) exited(name string) (seen runtime.Observation) {
	r.t.Helper()
	until(r.t, name+" has exited", func() bool {
		var err error
		seen, err = r.Observe(r.t.Context(), name)
		return err == nil && seen.Exit != nil
	})
	return seen
}

// Everything that an agent prints before it exits is on its screen, also if tmux is slow to read it.
func TestLastOutputOfAnAgentIsKept(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	server, err := strconv.Atoi(r.startedServer())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) }) // it may still be stopped after a failure
	const lines = 110                                               // 6930 bytes: more than the 4095 of one read, less than a pty holds
	for n := range 3 {
		name, print := fmt.Sprintf("a%d", n), filepath.Join(r.dir, fmt.Sprintf("print%d", n))
		r.shell(name, fmt.Sprintf(`until [ -e %s ]; do sleep 0.02; done; i=0; while [ $i -lt %d ]; do echo '%s'; i=$((i + 1)); done
			echo my last words; exit 7`, print, lines, strings.Repeat("x", 62)), nil)
		before, err := r.Observe(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(print, nil, 0o600)
		until(t, "the agent has exited", func() bool {
			info, err := proc.Stat(before.PID)
			return err != nil || info.Ended()
		})
		if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if seen := r.exited(name); seen.Exit.Code != 7 {
			t.Errorf("the exit is %+v, want code 7", seen.Exit)
		}
		text, err := r.Peek(name, 0)
		if err != nil || strings.Count(text+"\n", "xxx\n") != lines || !strings.HasSuffix(text, "\nmy last words") {
			t.Errorf("peek shows %d lines of %d and ends with %q, %v", strings.Count(text+"\n", "xxx\n"), lines, text[max(0, len(text)-100):], err)
		}
	}
}

// What a person typed and the agent did not read does not shorten the wait for the last output, also if
// it is nothing but Enter.
func TestLastOutputIsKeptBehindUnreadEnters(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	server, err := strconv.Atoi(r.startedServer())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) }) // it may still be stopped after a failure
	print := filepath.Join(r.dir, "print")
	r.shell("a", fmt.Sprintf("until [ -e %s ]; do sleep 0.02; done; i=0; while [ $i -lt 110 ]; do echo '%s'; i=$((i + 1)); done; echo my last words; exit 7",
		print, strings.Repeat("x", 62)), nil)
	seen, err := r.Observe(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	r.runTmux("send-keys", "-t", "=a:", "Enter", "Enter")
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waiter := parentOf(t, seen.PID)
	err = os.WriteFile(print, nil, 0o600)
	until(t, "the agent has exited", func() bool {
		info, err := proc.Stat(seen.PID)
		return err != nil || info.Ended()
	})
	deadline := time.Now().Add(time.Second) // the waiter would have exited by then
	until(t, "the waiter has had its time", func() bool {
		info, err := proc.Stat(waiter)
		return err != nil || info.Ended() || time.Now().After(deadline)
	})
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if seen := r.exited("a"); seen.Exit.Code != 7 {
		t.Errorf("the exit is %+v, want code 7", seen.Exit)
	}
	text, err := r.Peek("a", 0)
	if err != nil || !strings.HasSuffix(text, "\nmy last words") {
		t.Errorf("peek ends with %q, %v", text[max(0, len(text)-100):], err)
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.PPID
}

// startedServer starts the server with a session and returns its process.
func (r *testCity) startedServer() string {
	r.t.Helper()
	r.shell("beside", "exec cat", nil)
	return r.runTmux("display-message", "-p", "#{pid}")
}

// No agent that exits at once loses what it printed. GC_TEST_EXITS sets how many there are.
func TestLastOutputOfAgentsThatExitAtOnce(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	times := 10
	if n, err := strconv.Atoi(os.Getenv("GC_TEST_EXITS")); err == nil {
		times = n
	}
	lost := 0
	for n := range times {
		name := fmt.Sprintf("a%d", n)
		r.shell(name, "echo error: my last words; exit 7", nil)
		seen := r.exited(name)
		text, err := r.Peek(name, 0)
		if err != nil || seen.Exit.Code != 7 {
			t.Fatalf("exit %+v, peek %v", seen.Exit, err)
		}
		if !strings.Contains(text, "my last words") {
			lost++
		}
		if err := r.Stop(name); err != nil {
			t.Fatal(err)
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d agents have lost their last output", lost, times)
	}
}

// What ends, interrupts or stops an agent in tmux acts on the agent, and its process is the one that is reported.
func TestSignalsReachTheAgent(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	start := func(name, command string) (pid int) {
		file := filepath.Join(r.dir, name)
		r.shell(name, "echo $$ >"+file+"; "+command, nil)
		until(t, name+" runs", func() bool {
			data, _ := os.ReadFile(file) // it comes soon
			n, _ := fmt.Sscan(string(data), &pid)
			return n == 1
		})
		if seen, err := r.Observe(t.Context(), name); err != nil || seen.PID != pid || seen.Agent != runtime.Alive {
			t.Errorf("%s is process %d, %s, %v; want %d, alive", name, seen.PID, seen.Agent, err, pid)
		}
		return pid
	}
	killed := start("killed", "exec sleep 300")
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if seen := r.exited("killed"); !before(t, "3.3") && seen.Exit.Signal != syscall.SIGKILL.String() {
		t.Errorf("the exit of a killed agent is %+v", seen.Exit)
	}
	start("interrupted", "trap 'echo interrupted; exit 3' INT; while :; do sleep 0.1; done")
	r.runTmux("send-keys", "-t", "=interrupted:", "C-c")
	if seen := r.exited("interrupted"); seen.Exit.Code != 3 {
		t.Errorf("the exit of an interrupted agent is %+v, want code 3", seen.Exit)
	}
	r.shell("stopped", "kill -STOP $$; exit 4", nil)
	if seen := r.exited("stopped"); seen.Exit.Code != 4 {
		t.Errorf("an agent that stopped itself exits with %+v, want code 4", seen.Exit)
	}
	start("suspended", "while :; do sleep 0.1; done")
	r.runTmux("send-keys", "-t", "=suspended:", "C-z") // the system ignores the key: no process could continue the agent
	if seen, err := r.Observe(t.Context(), "suspended"); err != nil || seen.Agent != runtime.Alive {
		t.Errorf("after Ctrl-Z the agent is %s, %v", seen.Agent, err)
	}
	pid := start("relaunched", "exec sleep 300")
	if err := r.Relaunch(t.Context(), "relaunched", runtime.Config{Command: "exec sleep 200", WorkDir: r.dir}); err != nil {
		t.Fatal(err)
	}
	if seen, err := r.Observe(t.Context(), "relaunched"); err != nil || seen.PID == pid || seen.Agent != runtime.Alive {
		t.Errorf("the relaunched agent is process %d (was %d), %s, %v", seen.PID, pid, seen.Agent, err)
	} else if argv, err := proc.Argv(seen.PID); err != nil || !strings.Contains(strings.Join(argv, " "), "sleep 200") {
		t.Errorf("the relaunched agent runs %q, %v", argv, err)
	}
}
