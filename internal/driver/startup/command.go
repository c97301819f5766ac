package startup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	shellPath = "/bin/sh"
	// maxOutput is how much of a failed command's output is kept.
	maxOutput = 4 << 10
	// pipeGrace is how long a command's background processes may hold its output
	// open after it has ended.
	pipeGrace = 500 * time.Millisecond
)

// runCommand runs one command with sh -c in its own process group and waits for
// it. When ctx ends or the timeout has passed, the whole group is killed. What
// a successful command left in the background lives on.
func (r *run) runCommand(ctx context.Context, command string) error {
	limit := r.SetupTimeout
	if limit == 0 {
		limit = DefaultSetupTimeout
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	var out tail
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
	return &CommandError{Command: command, Output: out.String(), Err: err}
}

// commandDir returns the working directory, if it exists by now.
func (r *run) commandDir() string {
	if info, err := os.Stat(r.cfg.WorkDir); err == nil && info.IsDir() {
		return r.cfg.WorkDir
	}
	return ""
}

// timeoutError says that a command took too long.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return "it did not end within " + e.limit.String() }

func (*timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// runAll runs commands in order and returns what failed, joined.
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

// scriptCommand returns the shell command that runs a set-up script: a file, or
// a command itself.
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

// tail keeps the last maxOutput bytes of what is written. os/exec serialises
// the writes: both outputs are the same writer.
type tail struct{ kept bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-maxOutput):]
	if over := t.kept.Len() + len(p) - maxOutput; over > 0 {
		t.kept.Next(over)
	}
	t.kept.Write(p)
	return n, nil
}

func (t *tail) String() string { return t.kept.String() }
