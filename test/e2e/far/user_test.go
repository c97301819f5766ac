package far_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// newUser makes a user with this login shell, or skips the test.
func newUser(t *testing.T, shell string) string {
	t.Helper()
	path, err := osexec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	if os.Getuid() != 0 {
		t.Skip("only root makes users")
	}
	name := fmt.Sprintf("gcfar%d", os.Getpid()%100000)
	home := filepath.Join("/tmp", name)
	if out, err := osexec.CommandContext(t.Context(), "useradd", "-m", "-d", home, "-s", path, "-p", "*", name).CombinedOutput(); err != nil {
		t.Skipf("useradd: %s", out)
	}
	t.Cleanup(func() {
		until(t, "nothing of the user runs", func() bool { return killAll(home) == 0 })
		if out, err := osexec.Command("userdel", "-r", name).CombinedOutput(); err != nil {
			t.Logf("userdel: %s", out)
		}
	})
	for _, file := range []string{".bashrc", ".profile", ".cshrc", ".zshenv", ".kshrc"} {
		text := "echo Welcome to this host\nprintf 'no end of line'\n"
		if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o644); err != nil { //nolint:gosec // that user reads it
			t.Fatal(err)
		}
	}
	return name
}

// killAll kills the processes of the owner of a directory, and returns how many there were.
func killAll(home string) (n int) {
	owner := func(path string) uint32 {
		if info, err := os.Stat(path); err == nil {
			return info.Sys().(*syscall.Stat_t).Uid
		}
		return 0
	}
	for _, path := range must(filepath.Glob("/proc/[0-9]*")) {
		pid, err := strconv.Atoi(filepath.Base(path))
		if uid := owner(path); err == nil && uid != 0 && uid == owner(home) {
			syscall.Kill(pid, syscall.SIGKILL)
			n++
		}
	}
	return n
}

// Sessions of another user work with any login shell and any output of it.
func TestAnotherUser(t *testing.T) {
	for _, shell := range []string{"bash", "dash", "fish", "tcsh", "zsh", "ksh"} {
		t.Run(shell, func(t *testing.T) {
			f := newSSHServer(t, options{user: newUser(t, shell)})
			s := f.provider(t)
			s.start("")
			out, err := s.Deliver(t.Context(), s.name, runtime.Delivery{ID: "1", Content: runtime.TextContent("it's $HOME `x` !1 \\ \"y\"")})
			if err != nil || out.State != runtime.OutcomeSubmitted {
				t.Errorf("Deliver = %+v, %v, want it submitted", out, err)
			}
			s.await(ledger.Prompt, 1)
			if err := s.Stop(s.name); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
}
