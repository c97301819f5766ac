package driver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

const shellPath = "/bin/sh"

// runCommand runs one command with sh -c in its own process group and waits for it. If ctx ends or the timeout has passed, it
// kills the whole group. Background processes of a successful command continue.
func (r *run) runCommand(ctx context.Context, command string) error {
	limit := cmp.Or(r.SetupTimeout, DefaultSetupTimeout)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	err := proc.Shell{Line: command, Dir: r.commandDir(), Env: append(r.spec.Environ(r.Environ), proc.SetupKey+"=1")}.Run(bounded)
	if failed, ok := errors.AsType[*proc.ShellError](err); ok {
		return &CommandError{Command: command, Output: failed.Output, Err: failed.Err}
	}
	return err
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
		return shellPath + " " + textfmt.ShellWord(script)
	default:
		return textfmt.ShellWord(script)
	}
}
