package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

const (
	shellPath = "/bin/sh"
	// shellGrace is how long background processes may keep the output open after the command has exited.
	shellGrace = 500 * time.Millisecond
)

// Shell is a command line of a user. It runs with sh -c in a process group of its own.
type Shell struct {
	Line  string
	Dir   string
	Env   []string // the whole environment, NAME=value; nil means empty
	Stdin []byte   // nil means nothing
}

// ShellError reports that a command failed.
type ShellError struct {
	Line   string
	Output string // the last 4 KiB of the command's output
	Err    error  // the cause: an [*exec.ExitError], or the cause of ctx
}

func (e *ShellError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("command %q: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("command %q: %v: %s", e.Line, e.Err, e.Output)
}

// Unwrap returns the cause.
func (e *ShellError) Unwrap() error { return e.Err }

// Run runs the command and waits for it. If ctx ends, it kills the whole process group. Background processes of the command
// continue after it has exited; see [Shell.RunAlone]. If the command cannot be started or exits with a status other than 0, the
// error is a [*ShellError].
func (s Shell) Run(ctx context.Context) error {
	_, err := s.run(ctx, &Tail{})
	return err
}

// Output is RunAlone and also returns the end of the command's output, including standard error.
func (s Shell) Output(ctx context.Context) ([]byte, error) {
	out := &Tail{}
	err := s.killLeftovers(s.run(ctx, out))
	return out.Bytes(), err
}

// RunAlone is Run, but it kills the process group of the command at the end, so that no background process is left.
func (s Shell) RunAlone(ctx context.Context) error {
	return s.killLeftovers(s.run(ctx, &Tail{}))
}

// killLeftovers kills the remaining processes of a command's process group.
func (s Shell) killLeftovers(group int, err error) error {
	if group > 0 {
		if gone := syscall.Kill(-group, syscall.SIGKILL); gone != nil && !errors.Is(gone, syscall.ESRCH) && !errors.Is(gone, syscall.EPERM) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// run runs the command and waits for it. group is the ID of its process group; 0 if it was not started.
func (s Shell) run(ctx context.Context, out *Tail) (group int, err error) {
	cmd := exec.CommandContext(ctx, shellPath, "-c", s.Line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, out, out
	if s.Env == nil {
		cmd.Env = []string{} // nil would mean the environment of this process
	}
	if s.Stdin != nil {
		cmd.Stdin = bytes.NewReader(s.Stdin)
	}
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
		return group, nil // the command succeeded; a background process keeps its output open, or the command did not read its input
	}
	return group, &ShellError{Line: s.Line, Output: out.String(), Err: err}
}
