package router

import (
	"errors"
	"fmt"
	"strings"

	"gascity/runtime"
)

// ErrNoBackend reports that a session belongs to a backend that the router does not have. Nothing
// was done.
var ErrNoBackend = errors.New("no such backend")

// NoBackendError is an [ErrNoBackend] with the name of the missing backend and the names of the
// known ones.
type NoBackendError struct {
	Backend string
	Known   []string
}

func (e *NoBackendError) Error() string {
	return fmt.Sprintf("the session belongs to the backend %q, which this router does not have; it has: %s", e.Backend, strings.Join(e.Known, ", "))
}

// Is reports whether target is [ErrNoBackend].
func (e *NoBackendError) Is(target error) bool { return target == ErrNoBackend }

// Error is the error of a backend, with the backend's name.
type Error struct {
	Backend string
	Err     error // never nil
}

func (e *Error) Error() string { return e.Backend + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// wrap returns err with the backend's name, or nil if err is nil.
func (b *Backend) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Backend: b.Name, Err: err}
}

// unavailable returns err with the backend's name, as an error that matches
// [runtime.ErrRuntimeUnavailable].
func (b *Backend) unavailable(err error) error {
	if errors.Is(err, runtime.ErrRuntimeUnavailable) {
		return b.wrap(err)
	}
	return b.wrap(fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err))
}
