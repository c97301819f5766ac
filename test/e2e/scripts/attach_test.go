package scripts_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// attach runs the operation on a terminal and returns what types there.
func (s *script) attach(session string) (typed func(text string)) {
	s.t.Helper()
	needs(s.t, "script")
	cmd := osexec.CommandContext(s.t.Context(), "script", "-qfec", "exec "+s.path+" attach "+session, "/dev/null")
	cmd.Env, cmd.Dir, cmd.WaitDelay = slices.Concat(s.env, []string{"TERM=xterm-256color", "TMUX=/nested,1,0"}), s.dir, time.Second
	stdin := must(cmd.StdinPipe())
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return func(text string) {
		if _, err := stdin.Write([]byte(text)); err != nil {
			s.t.Errorf("cannot type: %v", err)
		}
	}
}

// A person attaches, sees the agent and types to it. The attachment is reported, and peek works meanwhile.
func TestAttach(t *testing.T) {
	forEachScript(t, attachAndType)
}

func attachAndType(t *testing.T, s *script) {
	a := s.start("worker", "", nil)
	a.await(ledger.Ready, 1)
	s.fails("session-not-found", "", "attach", "work")
	typed := s.attach("worker")
	until(t, "somebody is attached", func() bool { return s.do("", "is-attached", "worker") == "true\n" })
	typed("from a person\r")
	if got := a.await(ledger.Prompt, 1); !got[0].Is("from a person") {
		t.Errorf("%s: the agent consumed %q", filepath.Base(s.path), got[0].Text)
	}
	s.wantOutput("true\n", "", "is-attached", "worker")
	until(t, "a peek shows it", func() bool { return strings.Contains(s.do("", "peek", "worker", "0"), "You said (13 bytes") })
	if filepath.Base(s.path) == "gc-session-screen" {
		return // it may refuse while a terminal of another size shows another picture
	}
	until(t, "the person has not typed for a while", func() bool {
		r := s.call("from gc", "nudge", "worker")
		if r.code != 0 && !strings.Contains(r.stderr, "gc-error: refused human_typing") {
			t.Fatalf("nudge exits %d and says %q", r.code, r.stderr)
		}
		return r.code == 0
	})
	if got := a.await(ledger.Prompt, 2); !got[1].Is("from gc") {
		t.Errorf("%s: the agent consumed %q beside the person", filepath.Base(s.path), got[1].Text)
	}
	s.wantOutput("true\n", "", "is-attached", "worker")
}

// TestKilledPeek kills a peek at a session of GNU screen. The hidden display of the peek does not count as
// a person, and the next operation on the session removes it.
func TestKilledPeek(t *testing.T) {
	t.Parallel()
	s := open(t, "gc-session-screen")
	a := s.start("watched", "", nil)
	a.await(ledger.Ready, 1)
	displays := func() []string { return must(filepath.Glob(filepath.Join(s.dir, "state", "screen", "sockets", "*-*"))) }
	killed := false
	for end := time.Now().Add(time.Minute); !killed && time.Now().Before(end); { // a look may end before it is killed
		peek := osexec.Command(s.path, "peek", "watched", "0")
		peek.Env, peek.SysProcAttr = s.env, &syscall.SysProcAttr{Setpgid: true}
		if err := peek.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = peek.Wait() // it is killed
		}()
		for over := false; !over && len(displays()) == 0; {
			select {
			case <-ended:
				over = true
			case <-time.After(time.Millisecond): // it is there for a few of them
			}
		}
		_ = syscall.Kill(-peek.Process.Pid, syscall.SIGKILL) // it may have ended by itself
		<-ended
		killed = len(displays()) > 0
	}
	if !killed {
		t.Fatal("no look was killed in its middle")
	}
	until(t, "no client is attached", func() bool { return s.do("", "is-attached", "watched") == "false\n" && len(displays()) == 0 })
	a.prompts("after it")
	if out := s.do("", "peek", "watched", "0"); !strings.Contains(out, "after it") {
		t.Errorf("the next look shows %q", out)
	}
}

// TestStopDuringAStart kills a start as soon as GNU screen has the session. The next stop returns
// when the session is gone.
func TestStopDuringAStart(t *testing.T) {
	t.Parallel()
	s := open(t, "gc-session-screen")
	for range 3 {
		start := osexec.Command(s.path, "start", "half")
		start.Env, start.Dir, start.SysProcAttr = s.env, s.dir, &syscall.SysProcAttr{Setpgid: true}
		start.Stdin = strings.NewReader(`{"command": "exec sleep 600"}`)
		if err := start.Start(); err != nil {
			t.Fatal(err)
		}
		screens := filepath.Join(s.dir, "state", "screen", "sockets")
		until(t, "there is a screen", func() bool { return len(must(filepath.Glob(filepath.Join(screens, "[0-9]*.*")))) > 0 })
		_ = syscall.Kill(-start.Process.Pid, syscall.SIGKILL) // it may have ended by itself
		_ = start.Wait()                                      // it was killed
		s.do("", "stop", "half")
		for _, file := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
			if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), s.dir) {
				t.Errorf("after the stop %s still is %q", filepath.Dir(file), strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
}
