package scripts_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// watched runs the test for each script that has watch.
func watched(t *testing.T, test func(t *testing.T, s *script)) {
	t.Helper()
	for _, name := range []string{"gc-session-tmux", "gc-session-ssh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			if name == "gc-session-ssh" {
				s.serveSSH()
			}
			test(t, s)
		})
	}
}

// The life of a session is reported by watch, and how its agent died is known
// then.
func TestWatch(t *testing.T) {
	watched(t, func(t *testing.T, s *script) {
		p := s.driver()
		t.Cleanup(func() { p.Close() })
		events, err := p.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a := s.launch(p, "a", "")
		pid := a.await(ledger.Start, 1)[0].Run
		expect(t, events, runtime.EventStarted, "a")
		s.do("", "send-keys", "a", "x")
		expect(t, events, runtime.EventOutput, "a")
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		expect(t, events, runtime.EventExited, "a")
		t.Logf("reported %v after the kill", time.Since(killed))
		if obs, err := p.Observe(t.Context(), "a"); err != nil || obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Signal != "killed" {
			t.Errorf("Observe = %+v, %v, want it dead by a signal", obs, err)
		}
		s.wantOutput("", "", "list-running", "") // what watches is no session
		s.do("", "stop", "a")
		expect(t, events, runtime.EventGone, "a")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		for range events { // until the watch has ended
		}
		s.unwatched()
	})
}

// A watch ends with its reader, in a place without any events, too: no write shows it.
func TestWatchEndsWithItsReader(t *testing.T) {
	watched(t, func(t *testing.T, s *script) {
		for _, how := range []string{"the end of its input", "kill -9 of the script"} {
			cmd := osexec.CommandContext(t.Context(), s.path, "watch")
			cmd.Env, cmd.Dir, cmd.SysProcAttr = s.env, s.dir, &syscall.SysProcAttr{Setpgid: true}
			life := must(cmd.StdinPipe())
			out := must(cmd.StdoutPipe())
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "{\"kind\":\"resync\"}\n" {
				t.Errorf("a watch begins with %q, %v", line, err)
			}
			if how != "the end of its input" {
				cmd.Process.Kill() // its own process alone
			}
			life.Close()
			io.Copy(io.Discard, out) //nolint:errcheck // its end is waited for
			cmd.Wait()
			s.unwatched()
		}
	})
}

// unwatched waits until no process of a watch of this world is left: neither here, nor there.
func (s *script) unwatched() {
	s.t.Helper()
	var left []string
	until(s.t, "no watch is left", func() bool {
		left = nil
		for _, file := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
			line, _ := os.ReadFile(file)
			words := strings.Split(string(line), "\x00")
			environ, _ := os.ReadFile(strings.Replace(file, "cmdline", "environ", 1))
			if strings.Contains(string(environ), "TMPDIR="+s.dir) && strings.Contains(fmt.Sprint(words), "watch") && words[0] != "tmux" {
				left = append(left, strings.Join(words, " "))
			}
		}
		return len(left) == 0 && !strings.Contains(s.tmux("list-sessions"), "gc-watch")
	})
}

// tmux asks the script's server.
func (s *script) tmux(args ...string) string {
	for _, socket := range []string{filepath.Join(s.dir, "state/tmux/tmux"), filepath.Join(s.dir, "there's state/tmux/tmux")} {
		if _, err := os.Stat(socket); err == nil {
			out, _ := osexec.CommandContext(s.t.Context(), "tmux", append([]string{"-S", socket}, args...)...).CombinedOutput()
			return string(out)
		}
	}
	return ""
}
