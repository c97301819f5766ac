package ops

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strings"

	"gascity/internal/driver"
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

// Class returns what kind of error made a start fail, as one of the class constants.
func (a *Attempt) Class(err error) string {
	if death, ok := errors.AsType[*runtime.StartupDeath](err); ok {
		if death.Exit.Code == notFound {
			return classMissing
		}
		return classExit
	}
	if _, ok := errors.AsType[*driver.BlockedError](err); ok {
		return classDialog
	}
	if _, ok := errors.AsType[*driver.CommandError](err); ok {
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

// Fault returns an error as one line for people. It leaves out the operation and the session of a
// [runtime.Error], which are always shown next to it.
func Fault(err error) string {
	if outer, ok := errors.AsType[*runtime.Error](err); ok {
		err = outer.Err
	}
	text := driver.BriefError(err)
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		text = strings.TrimSuffix(text, ": "+end.Error())
	}
	return text
}

// StillOpen returns those lines of the warnings of a start that still apply now that the agent has
// this activity. A warning about readiness no longer applies when the agent accepts input or works;
// a warning about its first prompt no longer applies when it works. Other warnings stay.
func StillOpen(warnings string, now runtime.Activity) string {
	var settled []string // prefixes of the warnings that no longer apply
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

// FirstLine returns the text before the first line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
