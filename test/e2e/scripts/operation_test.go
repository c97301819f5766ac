package scripts_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	wire "gascity/internal/driver/script"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
)

// odd has characters that a shell, a terminal or a multiplexer could misinterpret.
const odd = "größe it's \"q\" $HOME `id` $(id) \\ \\\\ ; # %s #{pane_id} #(id)\n\tnext ☃ größe 👩‍👩‍👧‍👦 !ls \\"

func TestOperations(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		dump := filepath.Join(s.dir, "env dump")
		a := s.start("worker-10", "--print-env-to '"+dump+"'", func(d document) {
			d["env"] = map[string]string{"GC_CASE": odd, "GC_INSTANCE_TOKEN": "the token"}
			d["unset_env"] = []string{"HOME"}
			d["pre_start"] = []string{"echo pre > pre"}
			d["session_setup"] = []string{"exit 3", "echo $GC_SESSION > setup"}
			d["session_live"] = []string{"echo $GC_CASE > live"}
		})
		a.await(ledger.Ready, 1)
		env := readEnv(t, dump)
		if env["GC_CASE"] != odd {
			t.Errorf("GC_CASE = %q in the agent, want %q", env["GC_CASE"], odd)
		}
		if home, there := env["HOME"]; there {
			t.Errorf("HOME = %q in the agent, want it unset", home)
		}
		for name, want := range map[string]string{"pre": "pre\n", "setup": "worker-10\n"} {
			if got, _ := os.ReadFile(filepath.Join(a.work, name)); string(got) != want {
				t.Errorf("the step %s left %q, want %q", name, got, want)
			}
		}
		s.wantOutput("true\n", "", "is-running", "worker-10")
		s.wantOutput("false\n", "", "is-running", "worker-1")
		s.wantOutput("worker-10\n", "", "list-running", "worker-1")
		s.wantOutput("", "", "list-running", "worker-10x")
		s.fails("session-exists", "{}", "start", "worker-10")
		s.wantOutput("true\n", "nothing\n"+filepath.Base(build.Build(t))+"\n", "process-alive", "worker-10")
		s.wantOutput("false\n", filepath.Base(build.Build(t))[1:]+"\nfakeagen\n", "process-alive", "worker-10")
		s.wantOutput("false\n", "", "is-attached", "worker-10")
		a.prompts("x", "two\nlines;", odd)
		until(t, "the prompt is on the screen", func() bool {
			return strings.Contains(s.do("", "peek", "worker-10", "0"), "größe it's \"q\" $HOME")
		})
		if lines := strings.Count(s.do("", "peek", "worker-10", "2"), "\n"); lines > 2 {
			t.Errorf("a peek of 2 lines has %d", lines)
		}
		metadata(t, s)
		s.do("", "clear-scrollback", "worker-10")
		s.do("", "send-keys", "worker-10", "h", "i", "j", "BSpace", ";", "-", "Enter")
		if keys := a.await(ledger.Prompt, 4); !keys[3].Is("hi;-") {
			t.Errorf("the keys made %q, want %q", keys[3].Text, "hi;-")
		}
		s.fails("", "", "send-keys", "worker-10", "x", "NoSuchKey")
		copies(t, s, a)
		observes(t, s)
		s.do("", "stop", "worker-10")
		s.do("", "stop", "worker-10")
		s.wantOutput("false\n", "", "is-running", "worker-10")
		s.fails("session-not-found", "", "peek", "worker-10", "0")
		s.fails("session-not-found", "", "get-meta", "worker-10", "key")
	})
}

func readEnv(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		key, value, _ := strings.Cut(entry, "=")
		env[key] = value
	}
	return env
}

func metadata(t *testing.T, s *script) {
	t.Helper()
	for _, key := range []string{"key", "KEY", "../a b", "$(id)", strings.Repeat("k", 256), "-x"} {
		s.do(odd+"\n"+key, "set-meta", "worker-10", key)
	}
	s.do("again", "set-meta", "worker-10", "key")
	s.wantOutput("again\n", "", "get-meta", "worker-10", "key")
	s.wantOutput(odd+"\n../a b\n", "", "get-meta", "worker-10", "../a b")
	s.do("", "remove-meta", "worker-10", "key")
	s.wantOutput("", "", "get-meta", "worker-10", "key")
	s.wantOutput(odd+"\nKEY\n", "", "get-meta", "worker-10", "KEY")
}

func copies(t *testing.T, s *script, a agent) {
	t.Helper()
	source := filepath.Join(s.dir, "a 'file'")
	if err := os.WriteFile(source, []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.dir, filepath.Join(a.work, "out")); err != nil {
		t.Fatal(err)
	}
	s.do("", "copy-to", "worker-10", source, "deep/$(er)/copy")
	if got, _ := os.ReadFile(filepath.Join(a.work, "deep/$(er)/copy")); string(got) != odd {
		t.Errorf("the copy is %q, want %q", got, odd)
	}
	for _, out := range []string{"../x", "a/../../x", "out/x"} {
		s.fails("", "", "copy-to", "worker-10", source, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "x")); err == nil {
		t.Errorf("a copy left the working directory")
	}
}

func observes(t *testing.T, s *script) {
	t.Helper()
	var seen wire.Observation
	if err := json.Unmarshal([]byte(s.do("", "observe", "worker-10")), &seen); err != nil {
		t.Fatalf("observe prints no observation: %v", err)
	}
	if seen.Instance != "the token" || seen.Session.String() != "alive" || seen.Agent.String() != "alive" || time.Since(seen.StartedAt) > time.Hour {
		t.Errorf("observe prints %+v", seen.Observation)
	}
	s.fails("stale-instance", "another token", "stop-instance", "worker-10")
	s.fails("stale-instance", "", "interrupt-instance", "worker-10")
	s.wantOutput("true\n", "", "is-running", "worker-10")
}

// Operations on missing sessions change nothing.
func TestMissing(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		marker := filepath.Join(s.dir, "marker")
		for _, name := range []string{"none", "a b", "../x", "-x", "a.b:c", "$(touch " + marker + ")", "x'y", "a\nb", "*", strings.Repeat("n", 300)} {
			s.wantOutput("false\n", "", "is-running", name)
			s.do("", "stop", name)
			s.do("", "interrupt", name)
			s.do("", "send-keys", name, "x")
			s.wantOutput("", "", "get-last-activity", name)
			if out := s.do("text", "nudge", name); !strings.Contains(out, `"state":"absent"`) {
				t.Errorf("nudge of %q prints %q, want absent", name, out)
			}
			s.fails("session-not-found", "", "peek", name, "0")
			s.fails("session-not-found", "value", "set-meta", name, "key")
			s.wantOutput("", "", "list-running", name)
			if name != "none" {
				s.fails("invalid-name", `{"pre_start": ["touch '`+marker+`'"]}`, "start", name)
			}
		}
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("a name was run as a command")
		}
	})
}

// Stop stops processes that ignore signals or left the process tree, and a session whose agent has exited.
func TestStopEndsEverything(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "--ignore-sigterm --ignore-sighup --spawn-setsid 1 --spawn-daemon", nil)
		pids := []int{a.await(ledger.Start, 1)[0].Run}
		for _, r := range a.await(ledger.Spawn, 2) {
			pids = append(pids, r.PIDs...)
		}
		s.do("", "stop", "a")
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				t.Errorf("process %d of %d lives after stop", pid, len(pids))
			}
		}
	})
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// An agent that has exited is not running. The next start replaces its session.
func TestEnded(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "--hang --exit-after 300ms --exit-code 7 --stderr 'my last words'", nil)
		a.await(ledger.Exit, 1)
		until(t, "the agent is not running", func() bool { return s.do("", "is-running", "a") == "false\n" })
		s.wantOutput("", "", "list-running", "")
		until(t, "its last words are to be seen", func() bool { return strings.Contains(s.do("", "peek", "a", "0"), "my last words") })
		var seen wire.Observation
		if err := json.Unmarshal([]byte(s.do("", "observe", "a")), &seen); err != nil || seen.Exit == nil || seen.Exit.Code != 7 {
			t.Errorf("observe prints %+v, %v, want exit code 7", seen, err)
		}
		s.do("old", "set-meta", "a", "key")
		s.start("a", "", nil).await(ledger.Ready, 1)
		s.wantOutput("true\n", "", "is-running", "a")
		s.wantOutput("", "", "get-meta", "a", "key")
	})
}

// TestLastOutput prints more than a terminal is read in one step and exits while the multiplexer
// is stopped, as it is on a busy machine: all of the output is still there afterwards.
func TestLastOutput(t *testing.T) {
	for _, name := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			const lines = 110 // 6930 bytes: more than the 4095 of one read, less than a pty holds
			program := fmt.Sprintf(`echo $$ >pid; until [ -e print ]; do sleep 0.02; done
				i=0; while [ $i -lt %d ]; do echo '%s'; i=$((i + 1)); done
				echo my last words; exit 7`, lines, strings.Repeat("x", 62))
			a := s.start("a", "", func(d document) { d["command"] = program })
			var agent int
			until(t, "the agent runs", func() bool {
				data, _ := os.ReadFile(filepath.Join(a.work, "pid"))
				n, _ := fmt.Sscan(string(data), &agent)
				return n == 1
			})
			multiplexer := s.multiplexer()
			must(0, syscall.Kill(multiplexer, syscall.SIGSTOP))
			resume := func() { _ = syscall.Kill(multiplexer, syscall.SIGCONT) } // it may be gone in the end
			defer func() {
				resume()
				s.do("", "stop", "a") // it is dead, and would stay
			}()
			must(0, os.WriteFile(filepath.Join(a.work, "print"), nil, 0o600))
			until(t, "the agent has exited", func() bool { return syscall.Kill(agent, 0) != nil || zombie(agent) })
			resume()
			until(t, "the agent is not running", func() bool { return s.do("", "is-running", "a") == "false\n" })
			out := s.do("", "peek", "a", "0")
			if n := strings.Count(out, "xxx\n"); n != lines || !strings.HasSuffix(out, "\nmy last words\n") {
				t.Errorf("peek shows %d lines of %d, and in the end %q", n, lines, out[max(0, len(out)-100):])
			}
			var seen wire.Observation
			if err := json.Unmarshal([]byte(s.do("", "observe", "a")), &seen); err != nil || seen.Exit == nil || seen.Exit.Code != 7 {
				t.Errorf("observe prints %+v, %v, want exit code 7", seen, err)
			}
		})
	}
}

// TestHangup kills the tmux server: its agent, which does not read its terminal, gets SIGHUP.
func TestHangup(t *testing.T) {
	t.Parallel()
	s := open(t, "gc-session-docker")
	a := s.start("a", "", func(d document) { d["command"] = "echo $$ >pid; while :; do sleep 0.05; done" })
	var agent int
	until(t, "the agent runs", func() bool {
		data, _ := os.ReadFile(filepath.Join(a.work, "pid"))
		n, _ := fmt.Sscan(string(data), &agent)
		return n == 1
	})
	t.Cleanup(func() { _ = syscall.Kill(agent, syscall.SIGKILL) })
	must(0, syscall.Kill(s.multiplexer(), syscall.SIGKILL))
	until(t, "the agent has ended", func() bool { return syscall.Kill(agent, 0) != nil || zombie(agent) })
}

// multiplexer returns the process that reads the agents' terminals.
func (s *script) multiplexer() (pid int) {
	s.t.Helper()
	said := ""
	for _, socket := range must(filepath.Glob(filepath.Join(s.dir, "boxes/*/tmux-*/default"))) {
		out, _ := osexec.CommandContext(s.t.Context(), "tmux", "-S", socket, "display-message", "-p", "#{pid}").Output()
		said = string(out)
	}
	if filepath.Base(s.path) == "gc-session-screen" {
		for _, socket := range must(filepath.Glob(filepath.Join(s.dir, "state/screen/sockets/[0-9]*.*"))) {
			// PID.NAME; a hidden display is PID.NAME-PID, and there are folders.
			if info, err := os.Lstat(socket); err == nil && !info.IsDir() && !strings.Contains(filepath.Base(socket), "-") {
				said = filepath.Base(socket)
			}
		}
	}
	if _, err := fmt.Sscanf(said, "%d", &pid); err != nil {
		s.t.Fatalf("no number of the multiplexer in %q: %v", said, err)
	}
	return pid
}

// A start that fails leaves nothing and says why.
func TestStartFailures(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		for what, doc := range map[string]string{
			"no worktree today": `{"pre_start": ["echo no worktree today >&2; exit 3", "touch never"]}`,
			"does not exist":    `{"pre_start": ["rmdir '` + s.dir + `/gone' 2>/dev/null; true"], "work_dir": "` + s.dir + `/gone"}`,
			"variable name":     `{"env": {"A;touch x": "1"}}`,
			"not what it":       `{"env": `,
			"NUL":               `{"command": "true \u0000"}`,
		} {
			r := s.call(doc, "start", "a")
			if r.code != 1 || !strings.Contains(r.stderr, what) {
				t.Errorf("start of %s exits %d and says %q, want 1 and %q", doc, r.code, r.stderr, what)
			}
			s.wantOutput("false\n", "", "is-running", "a")
			s.fails("session-not-found", "", "peek", "a", "0")
		}
	})
}
