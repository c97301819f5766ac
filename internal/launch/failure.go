package launch

import (
	"fmt"
	"strings"

	"gascity/internal/console"
	"gascity/runtime"
)

// MetaWarning is the key of the note in which a driver keeps, with the session,
// what [Sequence.Warn] was told of its start: the texts, one in each line.
const MetaWarning = "GC_START_WARNING"

// StepError says which step of a start failed.
type StepError struct {
	Step string // "pre_start", "create", ...; see the table in steps.go
	Err  error
}

func (e *StepError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// CommandError says how a set-up command failed.
type CommandError struct {
	Command string
	Output  string // the last 4 KiB of its standard output and error
	Err     error
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("command %q failed: %v", e.Command, e.Err)
	if out := strings.TrimSpace(e.Output); out != "" {
		text += "; it printed:\n" + out
	}
	return text
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// BlockedError says that a dialog is up that a person has to answer. The agent
// runs.
type BlockedError struct{ console.Unanswered }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("a %s dialog is up and was not answered: %s", e.Kind, e.Why)
}

// UndeliveredError says that the first prompt was not seen to arrive. The agent
// runs; Outcome says whether it may have got the text.
type UndeliveredError struct {
	Text    string
	Outcome runtime.Outcome
}

func (e *UndeliveredError) Error() string {
	text := "the first prompt is " + string(e.Outcome.State)
	if e.Outcome.Reason != "" {
		text += " (" + string(e.Outcome.Reason) + ")"
	}
	if e.Outcome.Detail != "" {
		text += ": " + e.Outcome.Detail
	}
	return text
}
