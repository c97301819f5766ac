package script

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
)

// failurePrefix begins the line of standard error that names a sentinel.
const failurePrefix = "gc-error: "

// diedWord may be followed by how the agent ended: an exit code or a signal's name.
const diedWord = "session-died"

// exitWord returns how an agent ended.
func exitWord(e runtime.Exit) string {
	if e.Signal != "" {
		return e.Signal
	}
	return strconv.Itoa(e.Code)
}

// The words of a failure. One sentinel has one word.
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

// Failure returns what standard error says of err: the line that names its sentinel,
// if it has one, and the text for people.
func Failure(err error) string {
	if death, ok := errors.AsType[*runtime.StartupDeath](err); ok {
		return failurePrefix + diedWord + " " + exitWord(death.Exit) + "\n" + death.Output + "\n"
	}
	return failureLine(err) + err.Error() + "\n"
}

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

// ParseFailure reads the standard error of a script that failed: the text for people,
// and the sentinel that one of its lines names, nil if none does.
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

func sentinelOf(word string) error {
	if reason, ok := strings.CutPrefix(word, "refused "); ok {
		return &runtime.RefusedError{Reason: runtime.RefusalReason(reason)}
	}
	if how, ok := strings.CutPrefix(word, diedWord); ok {
		return death(strings.TrimSpace(how))
	}
	for _, f := range failures {
		if f.word == word {
			return f.sentinel
		}
	}
	return nil
}

// death reads how an agent ended; an unknown end is code -1.
func death(how string) *runtime.StartupDeath {
	exit := runtime.Exit{Code: -1, At: time.Now()}
	if code, err := strconv.Atoi(how); err == nil {
		exit.Code = code
	} else {
		exit.Signal = how
	}
	return &runtime.StartupDeath{Exit: exit}
}
