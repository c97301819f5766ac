package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	shellPath = "/bin/sh"
	// shellOutput is how much of a command's output is kept.
	shellOutput = 2 << 10
	// shellGrace is how long background processes may hold the output open after
	// the command has ended.
	shellGrace = 500 * time.Millisecond
)

// Shell is a user's command line, run by sh -c in a process group of its own.
type Shell struct {
	Line  string
	Dir   string
	Env   []string // the whole environment, NAME=value
	Stdin []byte
}

// ShellError says how a command failed.
type ShellError struct {
	Line   string
	Output string // the end of what it printed
	Err    error  // the cause: an [*exec.ExitError], or why ctx ended
}

func (e *ShellError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("command %q: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("command %q: %v: %s", e.Line, e.Err, e.Output)
}

// Unwrap returns the cause.
func (e *ShellError) Unwrap() error { return e.Err }

// Run runs the command and waits for it. When ctx ends its whole process group
// is killed. What a command left in the background lives on once the command
// itself has ended, save with [Shell.RunAlone]. A status other than 0, and a
// command that cannot be started, is a [*ShellError].
func (s Shell) Run(ctx context.Context) error {
	_, err := s.run(ctx, &shellTail{})
	return err
}

// Output is RunAlone, and returns the end of what the command printed, with what
// it printed on its standard error.
func (s Shell) Output(ctx context.Context) ([]byte, error) {
	out := &shellTail{}
	err := s.killLeftovers(s.run(ctx, out))
	return out.kept, err
}

// RunAlone is Run, and leaves nothing behind: the process group is killed at
// the end.
func (s Shell) RunAlone(ctx context.Context) error { return s.killLeftovers(s.run(ctx, &shellTail{})) }

// killLeftovers kills what is left of a command's process group.
func (s Shell) killLeftovers(group int, err error) error {
	if group > 0 {
		if gone := syscall.Kill(-group, syscall.SIGKILL); gone != nil && !errors.Is(gone, syscall.ESRCH) && !errors.Is(gone, syscall.EPERM) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (s Shell) run(ctx context.Context, out *shellTail) (group int, err error) {
	cmd := exec.CommandContext(ctx, shellPath, "-c", s.Line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, out, out
	if s.Env == nil {
		cmd.Env = []string{} // not ours
	}
	cmd.Stdin = bytes.NewReader(s.Stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = shellGrace
	err = cmd.Run()
	if cmd.Process != nil {
		group = cmd.Process.Pid
	}
	switch {
	case err == nil:
		return group, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case cmd.ProcessState != nil && cmd.ProcessState.Success():
		return group, nil // it ended well; something it started holds its output, or it did not read its input
	}
	return group, &ShellError{Line: s.Line, Output: strings.TrimSpace(string(out.kept)), Err: err}
}

// shellTail keeps the end of what is written.
type shellTail struct{ kept []byte }

func (t *shellTail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - shellOutput; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}
