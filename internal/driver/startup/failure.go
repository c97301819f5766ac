package startup

import (
	"errors"
	"fmt"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// MetaWarning is the metadata key under which a driver stores the warnings of [Sequence.Warn] for a start, one per line.
const MetaWarning = "GC_START_WARNING"

// StepError reports which step of a start failed.
type StepError struct {
	Step string // "pre_start", "create", ...; see startSteps in steps.go
	Err  error
}

func (e *StepError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// CommandError reports that a setup command failed.
type CommandError struct {
	Command string
	Output  string // the last 4 KiB of its standard output and error
	Err     error
}

func (e *CommandError) Error() string {
	words := fmt.Sprintf("command %q failed: %v", e.Command, e.Err)
	if out := strings.TrimSpace(e.Output); out != "" {
		words += "; it printed:\n" + out
	}
	return words
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// BlockedError reports that the agent shows a dialog that a person must answer. The agent runs.
type BlockedError struct{ screen.Unanswered }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s is up and was not answered: %s", dialogName(e.Kind), e.Why)
}

// dialogName returns the kind of a dialog with its article.
func dialogName(kind agentcli.DialogKind) string {
	switch {
	case kind == agentcli.DialogUnknown:
		return "a dialog of an unknown kind"
	case kind != "" && strings.ContainsRune("aeiou", rune(kind[0])):
		return "an " + string(kind) + " dialog"
	}
	return "a " + string(kind) + " dialog"
}

// UndeliveredError reports that the delivery of the first prompt was not confirmed. The agent runs. Outcome says whether the
// agent may have received the text.
type UndeliveredError struct {
	Text    string
	Outcome runtime.Outcome
}

func (e *UndeliveredError) Error() string {
	words := undelivered + string(e.Outcome.State)
	if e.Outcome.Reason != "" {
		words += ": " + textfmt.ReplaceInternalTerms(string(e.Outcome.Reason))
	}
	if e.Outcome.Detail != "" {
		words += ": " + e.Outcome.Detail
	}
	return words
}

// Missed reports whether a warning of a start, see [MetaWarning], says that the first prompt was certainly not delivered.
func Missed(warning string) bool {
	for _, state := range []runtime.OutcomeState{runtime.OutcomeRefused, runtime.OutcomeUnsupported, runtime.OutcomeAbsent} {
		if strings.Contains(warning, undelivered+string(state)) {
			return true
		}
	}
	return false
}

// undelivered is the beginning of the text of an [UndeliveredError].
const undelivered = "the first prompt is "

// Brief returns the error as one line of limited length. Of the output of a failed program it contains only the line that
// explains the failure. The text of err has the whole output, and [FailureOutput] returns it.
func Brief(err error) string {
	words := err.Error()
	for _, output := range outputs(err) {
		if printed := strings.TrimSpace(output); printed != "" {
			words = strings.Replace(words, "; it printed:\n"+printed, ", saying: "+textfmt.Bound(textfmt.ErrorLine(printed), maxOutputLine), 1)
		}
	}
	if failed, ok := errors.AsType[*CommandError](err); ok {
		words = strings.Replace(words, fmt.Sprintf("%q", failed.Command), fmt.Sprintf("%q", textfmt.Bound(failed.Command, maxNamed)), 1)
	}
	return textfmt.Brief(words)
}

const (
	maxOutputLine = 200 // length of the output line that explains a failure, in characters
	maxNamed      = 80  // length of a command in a message, in characters
)

// FailureOutput returns the output of the program that failed: of the agent or of a setup command. It returns an empty string
// if there is none.
func FailureOutput(err error) string {
	for _, output := range outputs(err) {
		if strings.TrimSpace(output) != "" {
			return output
		}
	}
	return ""
}

// outputs returns the outputs of all failed programs that err names.
func outputs(err error) []string {
	var found []string
	if death, ok := errors.AsType[*runtime.StartupDeath](err); ok {
		found = append(found, death.Output)
	}
	if failed, ok := errors.AsType[*CommandError](err); ok {
		found = append(found, failed.Output)
	}
	return found
}
