package ops

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strings"

	"gascity/internal/driver/startup"
	"gascity/runtime"
)

// The classes of failed starts.
const (
	classMissing = "missing binary"
	classExit    = "exit"
	classDialog  = "dialog"
	classTimeout = "timeout"
	classSetup   = "setup"
	classOther   = "other"
)

const notFoundCode = 127 // what a shell says of a command that it cannot find

// Class says in one word what kept a start from its end.
func (a *Attempt) Class(err error) string {
	if death, ok := errors.AsType[*runtime.StartupDeath](err); ok {
		if death.Exit.Code == notFoundCode {
			return classMissing
		}
		return classExit
	}
	if _, ok := errors.AsType[*startup.BlockedError](err); ok {
		return classDialog
	}
	if _, ok := errors.AsType[*startup.CommandError](err); ok {
		return classSetup
	}
	switch {
	case a.Abandoned, errors.Is(err, context.DeadlineExceeded):
		return classTimeout
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return classMissing
	}
	return classOther
}

// Fault says in one line what went wrong, without the operation and the session,
// which stand beside it everywhere. What the program printed is [startup.FailureOutput].
func Fault(err error) string {
	if outer, ok := errors.AsType[*runtime.Error](err); ok {
		err = outer.Err
	}
	text := startup.Brief(err)
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		text = strings.TrimSuffix(text, ": "+end.Error())
	}
	return text
}

// StillOpen returns what of the warnings of a start, one to a line, holds still
// when the agent has come to an activity and asks nothing: once it takes input no
// dialog is in its way, and once it is in a turn it has been prompted. What a
// set-up command could not do stays undone.
func StillOpen(warnings string, now runtime.Activity) string {
	var settled []string // by their steps
	switch now {
	case runtime.ActivityBusy:
		settled = []string{"ready: ", "prompt: "}
	case runtime.ActivityIdle, runtime.ActivityReady:
		settled = []string{"ready: "}
	default:
	}
	var open []string
	for line := range strings.Lines(warnings) {
		if !slices.ContainsFunc(settled, func(step string) bool { return strings.HasPrefix(line, step) }) {
			open = append(open, line)
		}
	}
	return strings.TrimSpace(strings.Join(open, ""))
}

// FirstLine returns what stands before the first line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
