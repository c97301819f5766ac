package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// MetaWarning is the metadata key under which a driver stores the warnings of [StartSequence.Warn] for a start, one per line.
const MetaWarning = "GC_START_WARNING"

// StartStepError reports which step of a start failed.
type StartStepError struct {
	Step string // "pre_start", "create", ...; see startSteps in steps.go
	Err  error
}

func (e *StartStepError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartStepError) Unwrap() error { return e.Err }

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

// PromptMissed reports whether a warning of a start, see [MetaWarning], says that the first prompt was certainly not delivered.
func PromptMissed(warning string) bool {
	missed := []runtime.OutcomeState{runtime.OutcomeRefused, runtime.OutcomeUnsupported, runtime.OutcomeAbsent}
	return slices.ContainsFunc(missed, func(state runtime.OutcomeState) bool { return strings.Contains(warning, undelivered+string(state)) })
}

// undelivered is the beginning of the text of an [UndeliveredError].
const undelivered = "the first prompt is "

// BriefError returns the error as one line of limited length. Of the output of a failed program it contains only the line that
// explains the failure. The text of err has the whole output, and [FailureOutput] returns it.
func BriefError(err error) string {
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

// outputs returns the outputs of failed programs in err: of the first [*runtime.StartupDeath] and of the first [*CommandError]
// that err wraps.
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

// SessionError returns err as a [*runtime.Error] with the operation and the session's name, after translate has replaced it by an
// error of package runtime. It returns nil for nil, and a *runtime.Error unchanged.
func SessionError(op, name string, err error, translate func(error) error) error {
	if err == nil {
		return nil
	}
	if _, already := errors.AsType[*runtime.Error](err); already {
		return err
	}
	return &runtime.Error{Op: op, Session: name, Err: translate(err)}
}

// TranslateError translates an error by a table: it returns the [Failure] of the first pair whose From matches err, or err
// itself if no pair matches.
func TranslateError(err error, pairs []ErrorTranslation) error {
	for _, pair := range pairs {
		if errors.Is(err, pair.From) {
			return &failure{sentinel: pair.To, err: err, busy: pair.Busy}
		}
	}
	return err
}

// ErrorTranslation names the error of package runtime for an error of another package.
type ErrorTranslation struct {
	From, To error
	Busy     bool // the error From means that another caller starts or runs the session
}

// Failure returns an error that matches both sentinel, an error of package runtime, and err.
func Failure(sentinel, err error) error { return &failure{sentinel: sentinel, err: err} }

// failure is the result of [Failure].
type failure struct {
	sentinel, err error
	busy          bool
}

func (f *failure) Error() string {
	switch {
	case f.busy:
		return f.sentinel.Error() + ": its agent runs or is being started; stop it first"
	case errors.Is(f.sentinel, runtime.ErrSessionExists):
		return f.err.Error() // it names what runs and how to stop it
	case errors.Is(f.sentinel, runtime.ErrRuntimeUnavailable):
		return errors.Join(f.sentinel, f.err).Error()
	}
	return f.sentinel.Error()
}

func (f *failure) Unwrap() []error { return []error{f.sentinel, f.err} }
