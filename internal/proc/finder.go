package proc

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ProgramFinder searches for programs. If a program is not found in the given PATH, it also searches in the PATH of the user's
// login shell, because the program may have been installed after this process started. It is safe for concurrent use.
type ProgramFinder struct {
	Shell string          // the user's login shell; empty means /bin/sh
	Env   func() []string // returns the environment of that shell; nil means this process's own
	Limit time.Duration   // time limit for starting that shell; zero means 5 s

	mu    sync.Mutex
	login string    // PATH of the login shell at the last query
	asked time.Time // time of the last query
	whole bool      // whether the last query tried all kinds of login shells
}

// FoundProgram is the location of a program.
type FoundProgram struct {
	File string
	// PATH is the PATH that an agent needs to find the program. It is the given PATH. If the program was found through the
	// login shell, the directories of the login shell's PATH are appended.
	PATH string
	// Login reports that the program was found in the PATH of the login shell.
	Login bool
}

// defaultShellLimit is the default of [ProgramFinder.Limit].
const defaultShellLimit = 5 * time.Second

// maxShellAnswer bounds the output that is read from a shell, in bytes.
const maxShellAnswer = 1 << 20

// Find returns the location of a program. dir is the working directory and path the PATH of the search. A program that
// is named by a path is not searched for. The error says why the program cannot be used.
func (f *ProgramFinder) Find(ctx context.Context, program, dir, path string) (FoundProgram, error) {
	file, err := FindProgram(program, dir, path)
	if err == nil || strings.Contains(program, "/") {
		return FoundProgram{File: file, PATH: path}, err
	}
	began := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	found := func() (FoundProgram, bool) {
		whole := joinPaths(path, f.login)
		file, err := FindProgram(program, dir, whole)
		return FoundProgram{File: file, PATH: whole, Login: true}, err == nil
	}
	if known, ok := found(); ok {
		return known, nil
	}
	if f.asked.After(began) && f.whole { // another caller has queried while this one waited
		return FoundProgram{PATH: path}, err
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(f.Limit, defaultShellLimit))
	defer cancel()
	f.login, f.whole = "", false
	// Some users set PATH in files that only an interactive shell reads.
	for _, flags := range [][]string{{"-l", "-c"}, {"-l", "-i", "-c"}} {
		f.login = joinPaths(f.login, f.queryLoginShell(limited, flags))
		f.asked = time.Now()
		if known, ok := found(); ok {
			return known, nil
		}
	}
	f.whole = true
	return FoundProgram{PATH: path}, err
}

// pathMarker is the beginning of the output line with the PATH.
const pathMarker = "gc-path="

// queryLoginShell returns the PATH of the login shell; an empty string if the shell does not print it in time. The shell has no
// terminal.
func (f *ProgramFinder) queryLoginShell(ctx context.Context, flags []string) string {
	cmd := exec.CommandContext(ctx, cmp.Or(f.Shell, "/bin/sh"), append(slices.Clone(flags), `printf '\n`+pathMarker+`%s\n' "$PATH"`)...)
	if f.Env != nil {
		cmd.Env = f.Env()
	}
	cmd.Dir = "/"
	out := &limitedBuffer{}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	_ = cmd.Run() // its output is used even if it failed or left processes running
	path := ""
	for line := range strings.Lines(out.String()) {
		if found, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), pathMarker); ok {
			path = found
		}
	}
	return path
}

// limitedBuffer stores the first maxAnswer bytes that are written to it.
type limitedBuffer struct{ strings.Builder }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), max(0, maxShellAnswer-b.Len()))])
	return len(p), nil
}

// joinPaths appends the absolute directories of more that are not in path to path.
func joinPaths(path, more string) string {
	dirs := filepath.SplitList(path)
	for _, dir := range filepath.SplitList(more) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
