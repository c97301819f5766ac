package driver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

func TestCommandEnvironment(t *testing.T) {
	w := newStartFixture(t)
	out := filepath.Join(w.dir, "env")
	w.cfg.Env = map[string]string{"GONE": "", "MINE": "a b"}
	w.cfg.ProviderName = "claude"
	rule := strings.Repeat("─", 40)
	w.screen = rule + "\n> \n" + rule
	w.cfg.SessionSetup = []string{"pwd > " + out + "; env >> " + out}
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(data), "\n")
	if dir, _ := filepath.EvalSymlinks(w.cfg.WorkDir); got[0] != dir && got[0] != w.cfg.WorkDir {
		t.Errorf("ran in %s, want the working directory", got[0])
	}
	for _, want := range []string{"GC_SESSION=worker", "GC_SESSION_NAME=worker", "GC_DIR=" + w.cfg.WorkDir, "MINE=a b", "GC_PROVIDER=claude"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
	agent := w.spec.Environ(w.Environ)
	for _, entry := range agent {
		if strings.HasPrefix(entry, "GONE=") || strings.HasPrefix(entry, "CI=") {
			t.Errorf("agent has %s", entry)
		}
	}
	if len(w.spec.Instance) != 2*tokenBytes || !slices.Contains(agent, "GC_INSTANCE_TOKEN="+w.spec.Instance) {
		t.Errorf("instance token %q is not in %q", w.spec.Instance, agent)
	}
}

func TestTokenAndOwnValuesAreKept(t *testing.T) {
	s := StartSequence{Profiles: agentcli.Builtin()}
	spec := s.newSpec("worker", runtime.Config{
		ProviderName: "claude", Env: map[string]string{"GC_INSTANCE_TOKEN": "t", "CI": "yes", "GC_PROVIDER": "own"},
	})
	if spec.Instance != "t" || spec.Vars["GC_PROVIDER"] != "own" {
		t.Errorf("spec %+v", spec)
	}
	if got := spec.Environ([]string{"CI=1"}); !slices.Contains(got, "CI=yes") {
		t.Errorf("environment %q, want the configured CI", got)
	}
}

func TestCommandIsKilledWithItsGroup(t *testing.T) {
	w := newStartFixture(t)
	pidFile := filepath.Join(w.dir, "pid")
	w.SetupTimeout = 300 * time.Millisecond
	w.cfg.PreStart = []string{"sleep 60 & echo $! > " + pidFile + "; wait"}
	err := w.Start(t.Context(), "worker", w.cfg)
	if _, ok := errors.AsType[*timeoutError](err); !ok {
		t.Errorf("error %v, want the timeout", err)
	}
	pid := readPID(t, pidFile)
	gone := func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }
	for end := time.Now().Add(10 * time.Second); !gone(); {
		if time.Now().After(end) {
			t.Fatalf("process %d of the command still runs", pid)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// zombie reports whether a killed process only waits to be reaped by its new
// parent.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestCommandMayLeaveABackgroundProcess(t *testing.T) {
	w := newStartFixture(t)
	pidFile := filepath.Join(w.dir, "pid")
	w.cfg.SessionSetup = []string{"sleep 60 & echo $! > " + pidFile}
	began := time.Now()
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil || len(w.warns) > 0 {
		t.Errorf("%v, %v", err, w.warns)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("waited %s for it", took)
	}
	if err := syscall.Kill(readPID(t, pidFile), syscall.SIGKILL); err != nil {
		t.Errorf("the background process is gone: %v", err)
	}
}

func TestCommandOutputIsBounded(t *testing.T) {
	w := newStartFixture(t)
	w.cfg.PreStart = []string{"i=0; while [ $i -lt 2000 ]; do echo line$i; i=$((i+1)); done; exit 1"}
	e, ok := errors.AsType[*CommandError](w.Start(t.Context(), "worker", w.cfg))
	if !ok || len(e.Output) > 4<<10 || !strings.HasSuffix(e.Output, "line1999") {
		t.Errorf("kept %d bytes, want the last %d", len(e.Output), 4<<10)
	}
}

// TestPromptReachesTheCommand runs the launch command for real, for prompts of
// all sizes.
func TestPromptReachesTheCommand(t *testing.T) {
	for _, size := range []int{1, 511, 1000, 1100, 4096, 16_400, 64 << 10, maxArg - 1, maxArg, 1 << 20} {
		for _, flag := range []string{"", "--prompt"} {
			t.Run(strconv.Itoa(size)+flag, func(t *testing.T) {
				dir := t.TempDir()
				text := strings.Repeat("it's $HOME `x` \"q\" \\ 作 ;\n", size/20+1)[:size]
				text = strings.ToValidUTF8(text, "?")
				suffix := textfmt.ShellWord(text)
				out := filepath.Join(dir, "out")
				agent := filepath.Join(dir, "agent")
				script := "#!/bin/sh\nfor a; do last=$a; done\nprintf %s \"$last\" > " + out + "\n"
				if err := os.WriteFile(agent, []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
				cfg := runtime.Config{Command: agent, PromptSuffix: suffix, PromptFlag: flag}
				private := filepath.Join(dir, "private")
				got, err := commandFor(cfg, private)
				if err != nil {
					t.Fatal(err)
				}
				checkPrivate(t, private, got)
				if len(got.command) > 2*maxInline {
					t.Errorf("command has %d bytes", len(got.command))
				}
				if err := exec.Command("/bin/sh", "-c", got.command).Run(); err != nil {
					t.Fatal(err)
				}
				passed, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				if string(passed) != text && got.typed != text {
					t.Errorf("agent got %d bytes, typed %d, want %d", len(passed), len(got.typed), len(text))
				}
				if (got.typed != "") != (size >= maxArg) {
					t.Errorf("typed %d bytes of %d", len(got.typed), size)
				}
				if _, err := os.Stat(got.file); got.file != "" && err == nil {
					t.Error("the file with the prompt is left")
				}
			})
		}
	}
}

func checkPrivate(t *testing.T, dir string, c launchCommand) {
	t.Helper()
	if c.file == "" {
		return
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, c.file: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestExecPrefix(t *testing.T) {
	for command, want := range map[string]string{
		"claude --x 'a b'": "exec ", "/bin/agent": "exec ", "cd x && claude": "", "claude | tee log": "", "A=1 claude": "",
		"exec claude": "", "cd x": "", "claude &": "", "claude > log": "", "$CMD": "", "if x; then y; fi": "", "'": "",
	} {
		if got := execPrefix(command); got != want {
			t.Errorf("%q: prefix %q, want %q", command, got, want)
		}
	}
}

func TestPromptThatIsNotQuoted(t *testing.T) {
	if _, err := commandFor(runtime.Config{Command: "a", PromptSuffix: strings.Repeat("two words ", 200)}, t.TempDir()); err == nil {
		t.Error("took an unquoted prompt")
	}
}
