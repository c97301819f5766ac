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

// MetaWarning is the key of the note in which a driver keeps, with the session,
// the warnings of [Sequence.Warn] about its start, one in each line.
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
	words := fmt.Sprintf("command %q failed: %v", e.Command, e.Err)
	if out := strings.TrimSpace(e.Output); out != "" {
		words += "; it printed:\n" + out
	}
	return words
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// BlockedError says that a dialog is up that a person has to answer. The agent
// runs.
type BlockedError struct{ screen.Unanswered }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s is up and was not answered: %s", dialogWords(e.Kind), e.Why)
}

// dialogWords names a dialog with its article.
func dialogWords(kind agentcli.DialogKind) string {
	switch {
	case kind == agentcli.DialogUnknown:
		return "a dialog of an unknown kind"
	case kind != "" && strings.ContainsRune("aeiou", rune(kind[0])):
		return "an " + string(kind) + " dialog"
	}
	return "a " + string(kind) + " dialog"
}

// UndeliveredError says that the first prompt was not seen to arrive. The agent
// runs; Outcome says whether it may have got the text.
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

// Missed reports whether the warning of a start, see [MetaWarning], says that its first
// prompt provably did not arrive.
func Missed(warning string) bool {
	for _, state := range []runtime.OutcomeState{runtime.OutcomeRefused, runtime.OutcomeUnsupported, runtime.OutcomeAbsent} {
		if strings.Contains(warning, undelivered+string(state)) {
			return true
		}
	}
	return false
}

// undelivered begins the words of an [UndeliveredError].
const undelivered = "the first prompt is "

// Brief describes a failure in one bounded line: the output of the failed program is left
// out, except the line that explains the failure. [error.Error] has all of it, and [FailureOutput] the
// output.
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
	maxOutputLine = 200 // characters of the line of an output that explains a failure
	maxNamed      = 80  // characters of a command that name it
)

// FailureOutput returns what the program that failed has printed: the agent, or a command of
// the start. Empty if nothing is known of it.
func FailureOutput(err error) string {
	for _, output := range outputs(err) {
		if strings.TrimSpace(output) != "" {
			return output
		}
	}
	return ""
}

// outputs returns what the programs printed whose failure is in err.
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
