package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/runtime"
)

// The exit statuses. They are documented and never change.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitRefused      = 4
	exitTimeout      = 5
	exitNoController = 6
)

// exits is the table from sentinels to exit statuses.
var exits = []struct {
	err    error
	status int
}{
	{client.ErrNoController, exitNoController},
	{client.ErrNotFound, exitNotFound},
	{runtime.ErrSessionNotFound, exitNotFound},
	{client.ErrRefused, exitRefused},
	{client.ErrForbidden, exitRefused},
	{client.ErrTimeout, exitTimeout},
	{context.DeadlineExceeded, exitTimeout},
	{client.ErrInvalid, exitUsage},
}

// usageError is a command line that cannot be understood.
type usageError struct {
	text    string
	command string // whose help to read
}

func (e *usageError) Error() string { return e.text + "\ntry: " + e.command + " --help" }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...), command: cmd.CommandPath()}
}

// exitError ends a command with a status whose reason has been printed, or is
// err.
type exitError struct {
	status int
	err    error // nil if everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// said ends the command with a status; everything has been printed.
func said(status int) error { return &exitError{status: status} }

// fail prints the error and returns its exit status.
func (a *app) fail(ctx context.Context, err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.err != nil {
			a.complain(exit.err)
		}
		return exit.status
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		a.talk("gc: interrupted")
		return exitFailed
	}
	a.complain(err)
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	for _, row := range exits {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return exitFailed
}

func (a *app) complain(err error) {
	a.talk("gc: %s", strings.TrimRight(err.Error(), "\n"))
}
