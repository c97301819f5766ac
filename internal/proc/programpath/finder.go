package programpath

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

// Finder looks programs up, and asks the user's login shell for its PATH where a program is not
// found: it may have been installed since this process started. It is safe for concurrent use.
type Finder struct {
	Shell string        // the user's login shell; empty is /bin/sh
	Env   []string      // the environment of that shell
	Limit time.Duration // for one question to it; zero is 5 s

	mu    sync.Mutex
	login string    // PATH of the login shell when it was last asked
	asked time.Time // when that was
	whole bool      // and whether it was asked in every way
}

// Found is where a program is.
type Found struct {
	File string
	// PATH is what an agent needs as its PATH to find the program. It is the given one, unless
	// the program was found by the login shell's: then the directories of that follow.
	PATH string
	// Login: the program was found by the PATH of the login shell.
	Login bool
}

// defaultLimit is the default of [Finder.Limit].
const defaultLimit = 5 * time.Second

// maxAnswer bounds what is read of a shell's output.
const maxAnswer = 1 << 20

// Find returns where a program is, seen from dir and with path. A program that is named by a path is
// not looked for anywhere else. The error says what is wrong with it.
func (f *Finder) Find(ctx context.Context, program, dir, path string) (Found, error) {
	file, err := Find(program, dir, path)
	if err == nil || strings.Contains(program, "/") {
		return Found{File: file, PATH: path}, err
	}
	began := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	found := func() (Found, bool) {
		whole := join(path, f.login)
		file, err := Find(program, dir, whole)
		return Found{File: file, PATH: whole, Login: true}, err == nil
	}
	if known, ok := found(); ok {
		return known, nil
	}
	if f.asked.After(began) && f.whole { // by another caller, while this one waited
		return Found{PATH: path}, err
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(f.Limit, defaultLimit))
	defer cancel()
	f.login, f.whole = "", false
	// Some users set PATH in files that only an interactive shell reads.
	for _, flags := range [][]string{{"-l", "-c"}, {"-l", "-i", "-c"}} {
		f.login = join(f.login, f.queryLoginShell(limited, flags))
		f.asked = time.Now()
		if known, ok := found(); ok {
			return known, nil
		}
	}
	f.whole = true
	return Found{PATH: path}, err
}

// pathMarker begins the line of a shell's output with its PATH.
const pathMarker = "gc-path="

// queryLoginShell returns the PATH of the login shell, empty if it does not say in time. It has no terminal.
func (f *Finder) queryLoginShell(ctx context.Context, flags []string) string {
	cmd := exec.CommandContext(ctx, cmp.Or(f.Shell, "/bin/sh"), append(slices.Clone(flags), `printf '\n`+pathMarker+`%s\n' "$PATH"`)...)
	cmd.Env = f.Env
	cmd.Dir = "/"
	out := &limitedBuffer{}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	_ = cmd.Run() // what it printed counts, also if it failed or left something running
	path := ""
	for line := range strings.Lines(out.String()) {
		if found, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), pathMarker); ok {
			path = found
		}
	}
	return path
}

// limitedBuffer keeps the first bytes that are written to it.
type limitedBuffer struct{ strings.Builder }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), max(0, maxAnswer-b.Len()))])
	return len(p), nil
}

// join returns the directories of path and, behind them, those of more that are absolute and not
// among them.
func join(path, more string) string {
	dirs := filepath.SplitList(path)
	for _, dir := range filepath.SplitList(more) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
