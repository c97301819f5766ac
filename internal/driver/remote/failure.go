package remote

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"gascity/runtime"
)

// failure is the encoding of an error: its text, the names of the sentinels that it matches, and the errors with fields that it
// wraps.
type failure struct {
	Text    string                `json:"text"`
	Is      []string              `json:"is,omitempty"`
	Op      string                `json:"op,omitempty"` // from a runtime.Error, like Session
	Session string                `json:"session,omitempty"`
	Death   *runtime.StartupDeath `json:"death,omitempty"`
	Refused *runtime.RefusedError `json:"refused,omitempty"`
	Answer  *runtime.AnswerError  `json:"answer,omitempty"`
	Partial []*failure            `json:"partial,omitempty"` // from a runtime.PartialListError
}

// sentinel is a sentinel error with the name by which it is sent over the connection, so that the caller's error matches
// the same sentinel.
type sentinel struct {
	word string
	err  error
}

// sentinels returns all errors that are sent by name.
func sentinels() []sentinel {
	return []sentinel{
		{"session-not-found", runtime.ErrSessionNotFound},
		{"session-exists", runtime.ErrSessionExists},
		{"session-initializing", runtime.ErrSessionInitializing},
		{"session-died", runtime.ErrSessionDiedDuringStartup},
		{"stale-instance", runtime.ErrStaleInstance},
		{"unavailable", runtime.ErrRuntimeUnavailable},
		{"interaction-unsupported", runtime.ErrInteractionUnsupported},
		{"interaction-gone", runtime.ErrInteractionGone},
		{"exec-unsupported", runtime.ErrExecUnsupported},
		{"relaunch-unsupported", runtime.ErrRelaunchUnsupported},
		{"attach-unsupported", runtime.ErrAttachUnsupported},
		{"input-unsupported", runtime.ErrInputUnsupported},
		{"invalid-name", runtime.ErrInvalidName},
		{"unsupported", errors.ErrUnsupported},
		{"deadline", context.DeadlineExceeded},
		{"canceled", context.Canceled},
		{"not-exist", fs.ErrNotExist},
		{"permission", fs.ErrPermission},
	}
}

// packError returns the encoding of err; nil for nil.
func packError(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: strings.ToValidUTF8(err.Error(), "?")}
	for _, s := range sentinels() {
		if errors.Is(err, s.err) {
			f.Is = append(f.Is, s.word)
		}
	}
	if e, ok := errors.AsType[*runtime.Error](err); ok {
		f.Op, f.Session, f.Text = e.Op, strings.ToValidUTF8(e.Session, "?"), strings.ToValidUTF8(e.Err.Error(), "?")
	}
	f.Death, _ = errors.AsType[*runtime.StartupDeath](err)
	f.Refused, _ = errors.AsType[*runtime.RefusedError](err)
	f.Answer, _ = errors.AsType[*runtime.AnswerError](err)
	if list, ok := errors.AsType[*runtime.PartialListError](err); ok {
		for _, one := range list.Errs {
			f.Partial = append(f.Partial, packError(one))
		}
	}
	return f
}

// unpack returns an error with the same text as the remote error. It matches the same sentinels and wraps the same errors with
// fields.
func (f *failure) unpack() error {
	if f == nil {
		return nil
	}
	e := &remoteError{text: f.Text}
	for _, s := range sentinels() {
		if slices.Contains(f.Is, s.word) {
			e.causes = append(e.causes, s.err)
		}
	}
	if f.Death != nil {
		e.causes = append(e.causes, f.Death)
	}
	if f.Refused != nil {
		e.causes = append(e.causes, f.Refused)
	}
	if f.Answer != nil {
		e.causes = append(e.causes, f.Answer)
	}
	if len(f.Partial) > 0 {
		list := &runtime.PartialListError{}
		for _, one := range f.Partial {
			list.Errs = append(list.Errs, one.unpack())
		}
		e.causes = append(e.causes, list)
	}
	if f.Op != "" {
		return &runtime.Error{Op: f.Op, Session: f.Session, Err: e}
	}
	return e
}

// remoteError is an error that occurred at the remote end.
type remoteError struct {
	text   string
	causes []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.causes }
