package fakeagent

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestTerminateRestoresTheTerminal(t *testing.T) {
	for _, face := range []string{"--alt-screen", "--alt-screen=false"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			s := play(t, face, "--slow-start", "50ms")
			// The agent may be in raw mode already: what cooked mode is, the kernel's default says.
			_, other, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			want, err := term.GetState(int(other.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			s.ready()
			if raw, err := term.GetState(int(s.slave.Fd())); err != nil || reflect.DeepEqual(raw, want) {
				t.Errorf("the terminal is not raw (%v)", err)
			}
			s.signal(syscall.SIGTERM)
			if code := s.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if got, err := term.GetState(int(s.slave.Fd())); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the terminal is not restored (%v)", err)
			}
			s.painted("\x1b[?2004l")
			if alt := strings.Contains(s.output(), "\x1b[?1049l"); alt != (face == "--alt-screen") {
				t.Errorf("left the alternate screen: %v", alt)
			}
			records := s.until("exit", ledgertest.Has(ledger.Exit, 1))
			if got := ledger.Of(records, ledger.Exit)[0]; got.Reason != "SIGTERM" || got.Code != 0 {
				t.Errorf("exit record %+v", got)
			}
		})
	}
}

func TestDeafAgentOnlyRecordsSignals(t *testing.T) {
	t.Parallel()
	s := play(t, "--ignore-sigterm", "--ignore-sighup").ready()
	s.signal(syscall.SIGTERM)
	s.wait(ledger.Signal, 1)
	s.signal(syscall.SIGHUP)
	if got := s.wait(ledger.Signal, 2); got.Signal != "SIGHUP" || got.Reason != "ignored" {
		t.Errorf("signal record %+v", got)
	}
	s.send("still here" + enter)
	s.wait(ledger.Answered, 1)
}

func TestAgentOutlivesItsTerminalIfAsked(t *testing.T) {
	t.Parallel()
	s := play(t, "--ignore-sighup").ready()
	s.slave.Close()
	s.master.Close()
	s.wait(ledger.InputEnded, 1)
	quiet()
	if !alive(s.cmd.Process.Pid) {
		t.Error("it is dead")
	}
}

func TestAgentEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.slave.Close()
	s.master.Close()
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.wait(ledger.Exit, 1)
}

// A terminal without a reader blocks every write; the agent must still be endable.
func TestTerminateEndsAnAgentThatIsStuckInAWrite(t *testing.T) {
	t.Parallel()
	start := make(chan struct{})
	defer close(start)
	s := playPaused(t, start, "--redraw-flood", "10MB")
	s.wait(ledger.Start, 1)
	quiet()
	s.signal(syscall.SIGTERM)
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.wait(ledger.Exit, 1)
}

func TestEndsOnCommand(t *testing.T) {
	for name, c := range map[string]struct {
		args, prompt, stderr string
		code                 int
	}{
		"exit-after": {args: "--exit-after 50ms --exit-code 7 --stderr broken", code: 7, stderr: "broken"},
		"exit":       {prompt: "[[exit:3]]", code: 3},
		"crash":      {prompt: "[[crash]]", code: -1},
		"max-life":   {args: "--hang --max-life 50ms", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, strings.Fields(c.args)...)
			if c.prompt != "" {
				s.ready().send(c.prompt + enter)
			}
			if code := s.exit(); code != c.code || !strings.Contains(s.stderr.String(), c.stderr) {
				t.Errorf("exit code %d, stderr %q", code, s.stderr.String())
			}
			exits := len(ledger.Of(s.until("start", ledgertest.Has(ledger.Start, 1)), ledger.Exit))
			if want := min(1, c.code+1); exits != want {
				t.Errorf("%d exit records, want %d", exits, want)
			}
		})
	}
}

func TestHangNeverBecomesReady(t *testing.T) {
	t.Parallel()
	s := play(t, "--hang")
	s.painted("Welcome to fakeagent")
	s.send("hello" + enter)
	quiet()
	records := s.until("start", ledgertest.Has(ledger.Start, 1))
	if len(records) != 1 || strings.Contains(s.output(), "❯") {
		t.Errorf("records: %+v", records)
	}
}

func TestRenamedAgentIsTheSameProcess(t *testing.T) {
	t.Parallel()
	s := play(t, "--rename", "2.1.29").ready()
	pid := s.wait(ledger.Start, 1).Run
	if pid != s.cmd.Process.Pid {
		t.Errorf("the agent is process %d, started was %d", pid, s.cmd.Process.Pid)
	}
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		t.Skip(err)
	}
	argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if string(comm) != "2.1.29\n" || err != nil || !strings.HasPrefix(string(argv), "2.1.29\x00") {
		t.Errorf("comm %q, argv %q, %v", comm, argv, err)
	}
}

func TestDoubleForkedAgentIsAnOrphanOnTheSameTerminal(t *testing.T) {
	t.Parallel()
	s := play(t, "--double-fork", "--rename", "ghost").ready()
	start := s.wait(ledger.Start, 1)
	if start.Run == s.cmd.Process.Pid || start.PPID == s.cmd.Process.Pid {
		t.Errorf("agent %d is a child of %d, which was started", start.Run, s.cmd.Process.Pid)
	}
	if sid, err := unix.Getsid(start.Run); err != nil || sid != s.cmd.Process.Pid {
		t.Errorf("its session is %d, %v", sid, err)
	}
	s.send("[[exit:5]]" + enter)
	if code := s.exit(); code != 5 {
		t.Errorf("the process in front exited %d, want the agent's 5", code)
	}
}

func TestDoubleForkedAgentThatIsKilled(t *testing.T) {
	t.Parallel()
	s := play(t, "--double-fork").ready()
	s.signal(syscall.SIGKILL)
	if code := s.exit(); code != 137 {
		t.Errorf("the process in front exited %d", code)
	}
}

func TestHelpersLiveInTheirOwnSessionsAndAreDeaf(t *testing.T) {
	t.Parallel()
	s := play(t, "--spawn-setsid", "2", "--spawn-daemon").ready()
	s.send("[[spawn:child]][[spawn:daemon]]" + enter)
	s.wait(ledger.Answered, 1)
	agent := s.wait(ledger.Start, 1).Run
	s.signal(syscall.SIGTERM)
	s.exit()
	own := 0
	spawned := ledger.Of(s.until("helpers", ledgertest.Has(ledger.Spawn, 5)), ledger.Spawn)
	for _, r := range spawned {
		pid := r.PIDs[0]
		syscall.Kill(pid, syscall.SIGTERM)
		syscall.Kill(pid, syscall.SIGHUP)
		if sid, err := unix.Getsid(pid); err != nil {
			t.Errorf("helper %d (%s): %v", pid, r.Reason, err)
		} else if sid != agent {
			own++
		}
	}
	quiet()
	for _, r := range spawned {
		if !alive(r.PIDs[0]) {
			t.Errorf("helper %d (%s) is dead", r.PIDs[0], r.Reason)
		}
	}
	if len(spawned) != 5 || own != 4 {
		t.Errorf("%d helpers, %d in sessions of their own", len(spawned), own)
	}
}

func TestStartRecordTellsHowItWasStarted(t *testing.T) {
	t.Setenv("FAKEAGENT_ARGS", `--name "the worker" --ledger-env ONE,TWO,THREE --think 1s`)
	t.Setenv("ONE", "1")
	t.Setenv("TWO", "a=b\n")
	envFile := filepath.Join(t.TempDir(), "env")
	s := play(t, "--think", "1ms", "--print-env-to", envFile).ready()
	got := s.wait(ledger.Start, 1)
	wd, _ := os.Getwd()
	if got.Name != "the worker" || got.Dir != wd || got.Rows != 40 || got.Cols != 120 ||
		!reflect.DeepEqual(got.Env, map[string]string{"ONE": "1", "TWO": "a=b\n"}) || !reflect.DeepEqual(got.Argv, s.cmd.Args) {
		t.Errorf("start record %+v", got)
	}
	env, err := os.ReadFile(envFile)
	if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "TWO=a=b\n") {
		t.Errorf("environment %q, %v", env, err)
	}
}

func TestResizeIsRecorded(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.resize(20, 33)
	if got := s.wait(ledger.Resize, 1); got.Rows != 20 || got.Cols != 33 {
		t.Errorf("resize record %+v", got)
	}
	s.painted("\n" + strings.Repeat("─", 33) + "\r\n")
}
