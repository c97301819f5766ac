package fake

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Shell runs a command for a [Provider]: a step of a start, or an Exec. dir may be empty. env is
// the whole environment. A nonzero exit code is not an error.
type Shell func(ctx context.Context, dir string, env []string, command string) (ShellResult, error)

// ShellResult is the result of a command.
type ShellResult struct {
	Stdout, Stderr string
	Code           int
}

// RunShell implements [Shell] with sh -c. When ctx ends, it kills the command and returns the
// cause.
func RunShell(ctx context.Context, dir string, env []string, command string) (ShellResult, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // running commands is its purpose
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	result := ShellResult{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return result, err
}

// quote returns word, which must not contain NUL, as one word of an sh command.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
