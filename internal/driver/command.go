package driver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"gascity/internal/proc"
)

const (
	shellPath = "/bin/sh"
	// maxOutput is the number of bytes of a failed command's output that are stored.
	maxOutput = 4 << 10
	// pipeGrace is how long a command's background processes may keep its output open after the command has exited.
	pipeGrace = 500 * time.Millisecond
)

// runCommand runs one command with sh -c in its own process group and waits for it. If ctx ends or the timeout has passed, it
// kills the whole group. Background processes of a successful command continue.
func (r *run) runCommand(ctx context.Context, command string) error {
	limit := r.SetupTimeout
	if limit == 0 {
		limit = DefaultSetupTimeout
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	out := proc.Tail{Most: maxOutput}
	cmd := exec.CommandContext(bounded, shellPath, "-c", command)
	cmd.Dir = r.commandDir()
	cmd.Env = append(r.spec.Environ(r.Environ), envSetup+"=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && bounded.Err() == nil:
		return nil
	case bounded.Err() != nil:
		err = context.Cause(bounded)
	}
	return &CommandError{Command: command, Output: string(out.Bytes()), Err: err}
}

// commandDir returns the working directory if it exists, else an empty string.
func (r *run) commandDir() string {
	if info, err := os.Stat(r.cfg.WorkDir); err == nil && info.IsDir() {
		return r.cfg.WorkDir
	}
	return ""
}

// timeoutError reports that a command took longer than limit.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return "it did not exit within " + e.limit.String() }

func (*timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// runAll runs all commands in order, until ctx ends, and returns their errors joined.
func (r *run) runAll(ctx context.Context, commands []string) error {
	var failed []error
	for _, command := range commands {
		if err := r.runCommand(ctx, command); err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// scriptCommand returns the shell command that runs a setup script. script is the path of a file or a shell command.
func scriptCommand(script string) string {
	info, err := os.Stat(script)
	switch {
	case err != nil || info.IsDir():
		return script
	case info.Mode()&0o111 == 0:
		return shellPath + " " + quote(script)
	default:
		return quote(script)
	}
}
