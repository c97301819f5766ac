package router

import (
	"errors"
	"fmt"
	"strings"

	"gascity/runtime"
)

// ErrNoBackend reports that a session belongs to a backend that the router does
// not have. Nothing was done.
var ErrNoBackend = errors.New("no such backend")

// NoBackendError is [ErrNoBackend] with what is missing.
type NoBackendError struct {
	Backend string
	Known   []string
}

func (e *NoBackendError) Error() string {
	return fmt.Sprintf("the session belongs to the backend %q, which is not there; there is: %s", e.Backend, strings.Join(e.Known, ", "))
}

// Is reports whether target is [ErrNoBackend].
func (e *NoBackendError) Is(target error) bool { return target == ErrNoBackend }

// Error says at which backend an operation failed.
type Error struct {
	Backend string
	Err     error // never nil
}

func (e *Error) Error() string { return e.Backend + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// wrap names the backend in an error.
func (b *backend) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Backend: b.Name, Err: err}
}

// unavailable is the error of a question that was not answered.
func (b *backend) unavailable(err error) error {
	if errors.Is(err, runtime.ErrRuntimeUnavailable) {
		return b.wrap(err)
	}
	return b.wrap(fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err))
}
