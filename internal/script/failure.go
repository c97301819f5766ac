package script

import (
	"errors"
	"strings"

	"gascity/runtime"
)

// failurePrefix begins the line of standard error that names a sentinel.
const failurePrefix = "gc-error: "

// The words of a failure. One sentinel has one word.
var failures = []struct {
	word     string
	sentinel error
}{
	{"session-not-found", runtime.ErrSessionNotFound},
	{"session-exists", runtime.ErrSessionExists},
	{"session-initializing", runtime.ErrSessionInitializing},
	{"session-died", runtime.ErrSessionDiedDuringStartup},
	{"stale-instance", runtime.ErrStaleInstance},
	{"unavailable", runtime.ErrRuntimeUnavailable},
	{"no-terminal", runtime.ErrAttachUnsupported},
	{"no-input", runtime.ErrInputUnsupported},
	{"invalid-name", runtime.ErrInvalidName},
}

// FailureLine returns the line of standard error that tells err's sentinel, with
// its line end; empty if it has none.
func FailureLine(err error) string {
	for _, f := range failures {
		if errors.Is(err, f.sentinel) {
			return failurePrefix + f.word + "\n"
		}
	}
	var refused *runtime.RefusedError
	if errors.As(err, &refused) {
		return failurePrefix + "refused " + string(refused.Reason) + "\n"
	}
	return ""
}

// ParseFailure reads the standard error of a script that failed: the sentinel that
// one of its lines names, nil if none does, and the rest, which is for people.
func ParseFailure(stderr string) (sentinel error, text string) {
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
	return sentinel, strings.TrimSpace(strings.Join(rest, "\n"))
}

func sentinelOf(word string) error {
	if reason, ok := strings.CutPrefix(word, "refused "); ok {
		return &runtime.RefusedError{Reason: runtime.RefusalReason(reason)}
	}
	for _, f := range failures {
		if f.word == word {
			return f.sentinel
		}
	}
	return nil
}
