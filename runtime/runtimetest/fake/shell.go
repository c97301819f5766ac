package fake

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Shell runs a command for a [Provider]: a step of a start, or an Exec. dir may be
// empty, env is the whole environment. An exit code is no error.
type Shell func(ctx context.Context, dir string, env []string, command string) (ShellResult, error)

// ShellResult is what a command left.
type ShellResult struct {
	Stdout, Stderr string
	Code           int
}

// RunShell returns a [Shell] that runs sh -c. When ctx ends, the command is killed
// and the error is the cause.
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

// quote makes one word of sh from any text without NUL.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
