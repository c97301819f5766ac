package script

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
)

// failurePrefix is the beginning of the line on standard error that names a sentinel.
const failurePrefix = "gc-error: "

// diedWord names [runtime.ErrSessionDiedDuringStartup]. An exit code or the name of a signal may follow it.
const diedWord = "session-died"

// exitText returns the exit code of an agent, or the name of the signal that killed it.
func exitText(e runtime.Exit) string {
	if e.Signal != "" {
		return e.Signal
	}
	return strconv.Itoa(e.Code)
}

// The name of each sentinel on the wire.
var failures = []struct {
	word     string
	sentinel error
}{
	{"session-not-found", runtime.ErrSessionNotFound},
	{"session-exists", runtime.ErrSessionExists},
	{"session-initializing", runtime.ErrSessionInitializing},
	{diedWord, runtime.ErrSessionDiedDuringStartup},
	{"stale-instance", runtime.ErrStaleInstance},
	{"unavailable", runtime.ErrRuntimeUnavailable},
	{"no-terminal", runtime.ErrAttachUnsupported},
	{"no-input", runtime.ErrInputUnsupported},
	{"invalid-name", runtime.ErrInvalidName},
}

// Failure returns the text of err for standard error: the line that names its sentinel, if it has one, and the message for
// people.
func Failure(err error) string {
	if death, ok := errors.AsType[*runtime.StartupDeath](err); ok {
		return failurePrefix + diedWord + " " + exitText(death.Exit) + "\n" + death.Output + "\n"
	}
	return failureLine(err) + err.Error() + "\n"
}

// failureLine returns the line that names the sentinel of err; an empty string if there is none.
func failureLine(err error) string {
	for _, f := range failures {
		if errors.Is(err, f.sentinel) {
			return failurePrefix + f.word + "\n"
		}
	}
	if refused, ok := errors.AsType[*runtime.RefusedError](err); ok {
		return failurePrefix + "refused " + string(refused.Reason) + "\n"
	}
	return ""
}

// ParseFailure parses the standard error of a failed script. It returns the message for people and the sentinel that one of the
// lines names, or nil if no line does.
func ParseFailure(stderr string) (text string, sentinel error) {
	var rest []string
	for line := range strings.SplitSeq(stderr, "\n") {
		word, ok := strings.CutPrefix(line, failurePrefix)
		if !ok || sentinel != nil {
			rest = append(rest, line)
			continue
		}
		if sentinel = sentinelOf(strings.TrimSpace(word)); sentinel == nil {
			rest = append(rest, line)
		}
	}
	text = strings.TrimSpace(strings.Join(rest, "\n"))
	if death, ok := errors.AsType[*runtime.StartupDeath](sentinel); ok {
		death.Output = text
	}
	return text, sentinel
}

// sentinelOf returns the error with the given name; nil if the name is unknown.
func sentinelOf(word string) error {
	if reason, ok := strings.CutPrefix(word, "refused "); ok {
		return &runtime.RefusedError{Reason: runtime.RefusalReason(reason)}
	}
	if how, ok := strings.CutPrefix(word, diedWord); ok {
		return parseDeath(strings.TrimSpace(how))
	}
	for _, f := range failures {
		if f.word == word {
			return f.sentinel
		}
	}
	return nil
}

// parseDeath parses how an agent exited. Text that is not a number is the name of a signal, and the code is then -1.
func parseDeath(how string) *runtime.StartupDeath {
	exit := runtime.Exit{Code: -1, At: time.Now()}
	if code, err := strconv.Atoi(how); err == nil {
		exit.Code = code
	} else {
		exit.Signal = how
	}
	return &runtime.StartupDeath{Exit: exit}
}
