package cmdenv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// The exit statuses. They are documented and never change.
const (
	Done         = 0
	Failed       = 1
	BadUsage     = 2
	NotFound     = 3
	Refused      = 4
	TimedOut     = 5
	NoController = 6
	Asked        = 7 // only from gc guard check: a person would have to decide
)

// kinds maps each exit status to its name in JSON.
var kinds = map[int]string{
	Failed: "failed", BadUsage: "usage", NotFound: "not_found", Refused: "refused", TimedOut: "timeout", NoController: "no_controller", Asked: "asked",
}

// Failure is an error as JSON.
type Failure struct {
	Error struct {
		Kind       string `json:"kind"` // failed, usage, not_found, refused, timeout, no_controller or asked
		Message    string `json:"message"`
		ExitStatus int    `json:"exit_status"`
	} `json:"error"`
}

// exits maps sentinel errors to exit statuses. The first match decides.
var exits = []struct {
	err    error
	status int
}{
	{client.ErrNoController, NoController},
	{client.ErrNotFound, NotFound},
	{runtime.ErrSessionNotFound, NotFound},
	{client.ErrRefused, Refused},
	{client.ErrForbidden, Refused},
	{client.ErrUnauthorized, Refused},
	{client.ErrTimeout, TimedOut},
	{context.DeadlineExceeded, TimedOut},
	{client.ErrInvalid, BadUsage},
}

// usageError is the error for a wrong command line.
type usageError struct {
	text    string
	command string // the command whose help is proposed
}

// Error implements error: the mistake, and the command that prints the help.
func (e *usageError) Error() string { return e.text + "\ntry: " + e.command + " --help" }

// Usage returns the error for a wrong command line. Its exit status is [BadUsage], and it names
// the help of cmd.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...), command: cmd.CommandPath()}
}

// exitError ends a command with this exit status. Everything has been printed.
type exitError int

// Error implements error.
func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// SilentExit returns an error that ends the command with an exit status and prints nothing; nil for [Done].
func SilentExit(status int) error {
	if status == Done {
		return nil
	}
	return exitError(status)
}

// IsSilent reports whether an error is one of [SilentExit]: what happened was printed already.
func IsSilent(err error) bool {
	_, ok := errors.AsType[exitError](err)
	return ok
}

// Fail prints an error of a command to standard error and returns the exit status of the program for it.
func (d *Base) Fail(ctx context.Context, err error) int {
	if IsSilent(err) {
		return StatusOf(err)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		d.printError(errors.New("interrupted"))
		return Failed
	}
	d.printError(err)
	return StatusOf(err)
}

// StatusOf returns the exit status for an error; [Done] for nil.
func StatusOf(err error) int {
	if err == nil {
		return Done
	}
	if exit, ok := errors.AsType[exitError](err); ok {
		return int(exit)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return BadUsage
	}
	for _, row := range exits {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return Failed
}

// printError prints an error to standard error; with --json as a [Failure].
func (d *Base) printError(err error) {
	message := strings.TrimRight(err.Error(), "\n")
	if d.JSON {
		var failure Failure
		failure.Error.ExitStatus = StatusOf(err)
		failure.Error.Kind, failure.Error.Message = kinds[failure.Error.ExitStatus], message
		if d.encode(d.Stderr, failure, "") == nil {
			return
		}
	}
	d.Messagef("gc: %s", textfmt.Block(message))
}
