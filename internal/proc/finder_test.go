package proc_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/proc"
)

// loginShell makes a shell whose PATH as a login shell has more directories, and which counts how
// often it was asked.
func loginShell(t *testing.T, script string) (shell string, asked func() int) {
	t.Helper()
	dir := t.TempDir()
	shell = filepath.Join(dir, "shell")
	text := "#!/bin/sh\necho x >> " + dir + "/asked\n[ -t 0 ] && exit 9\n" + script + "\n"
	if err := os.WriteFile(shell, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return shell, func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "asked"))
		return strings.Count(string(data), "x")
	}
}

func installProgram(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
}

// runCommand is the end of a login shell's script: it runs the command behind -c.
const runCommand = `while [ $# -gt 0 ]; do case $1 in -c) eval "$2"; exit;; esac; shift; done`

// TestAProgramThatIsInstalledLaterIsFound proves that a program in a directory that only the login
// shell has in its PATH is found when it appears, that the agent's own PATH comes first, that the
// shell is asked only while a program is not found, and what it says besides is no matter.
func TestAProgramThatIsInstalledLaterIsFound(t *testing.T) {
	own, later := t.TempDir(), t.TempDir()
	shell, asked := loginShell(t, "PATH="+later+":rel:$PATH; echo welcome; "+runCommand)
	f := &proc.ProgramFinder{Shell: shell, Env: func() []string { return []string{"PATH=" + own} }}
	installProgram(t, own, "near")
	if found, err := f.Find(t.Context(), "near", "", own); err != nil || found.Login || found.PATH != own || asked() != 0 {
		t.Errorf("a program in PATH: %+v, %v, asked %d times", found, err, asked())
	}
	if found, err := f.Find(t.Context(), "tool", "", own); err == nil || found.PATH != own || asked() != 2 {
		t.Errorf("a program that is nowhere: %+v, %v, asked %d times", found, err, asked())
	}
	installProgram(t, later, "tool")
	want := proc.FoundProgram{File: filepath.Join(later, "tool"), PATH: own + ":" + later, Login: true}
	for range 3 {
		if found, err := f.Find(t.Context(), "tool", "", own); err != nil || found != want {
			t.Errorf("found %+v, %v, want %+v", found, err, want)
		}
	}
	if asked() != 2 {
		t.Errorf("the shell was asked %d times, want 2: it said before where the program is now", asked())
	}
	if _, err := f.Find(t.Context(), "/no/such/tool", "", own); err == nil || asked() != 2 {
		t.Errorf("a path was looked for by the shell: %v", err)
	}
}

// TestASlowLoginShellIsNotWaitedFor proves that a shell that hangs, or leaves a process behind that
// holds its output, costs no more than the limit, also for many callers at once.
func TestASlowLoginShellIsNotWaitedFor(t *testing.T) {
	for name, script := range map[string]string{"hangs": "sleep 1000", "floods": "exec yes", "leaves": "(sleep 3 & ) ; " + runCommand, "fails": "exit 1"} {
		t.Run(name, func(t *testing.T) {
			shell, asked := loginShell(t, script)
			f := &proc.ProgramFinder{Shell: shell, Limit: 300 * time.Millisecond}
			began := time.Now()
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if _, err := f.Find(t.Context(), "no-such-tool", "", "/nowhere"); err == nil {
						t.Error("it was found")
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("50 callers took %v", took)
			}
			if n := asked(); n > 20 {
				t.Errorf("50 callers at once asked %d times", n)
			}
		})
	}
}
