package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// The sentinels of the contract. Drivers translate foreign text into one of
// them beside the call that produced it; callers test with [errors.Is].
var (
	// ErrSessionExists reports that a live session already has the name.
	ErrSessionExists = errors.New("session already exists")

	// ErrSessionInitializing reports that a session's infrastructure exists but
	// is still starting up. Callers back off and retry.
	ErrSessionInitializing = errors.New("session is initializing")

	// ErrInteractionUnsupported reports that the session's driver has no
	// structured pending and respond.
	ErrInteractionUnsupported = errors.New("session interaction is unsupported")

	// ErrSessionDiedDuringStartup reports that the agent's process was created
	// but exited before start-up completed. The agent's failure, not the
	// driver's; [StartupDeath] carries what it left.
	ErrSessionDiedDuringStartup = errors.New("session died during startup")

	// ErrSessionNotFound reports that the driver knows no such session. Benign
	// for Stop, fatal for a caller that has to reach the agent.
	ErrSessionNotFound = errors.New("session not found")

	// ErrExecUnsupported reports that the box does not implement exec.
	ErrExecUnsupported = errors.New("runtime does not implement the exec op")

	// ErrRelaunchUnsupported reports that the agent cannot be relaunched in its
	// warm box; callers stop and start instead.
	ErrRelaunchUnsupported = errors.New("runtime does not support warm-box relaunch")

	// ErrAttachUnsupported reports that the session has no terminal to attach to.
	ErrAttachUnsupported = errors.New("session has no terminal to attach to")

	// ErrInputUnsupported reports that the agent has declared no way to read a
	// prompt.
	ErrInputUnsupported = errors.New("session reads no prompts")

	// ErrStaleInstance reports that a call named an instance that is no
	// longer the session's current one. Nothing was done.
	ErrStaleInstance = errors.New("stale instance")

	// ErrRuntimeUnavailable reports that nothing could be observed. It is never
	// evidence that a session is gone.
	ErrRuntimeUnavailable = errors.New("runtime unavailable")

	// ErrInteractionGone reports that the question that was to be answered does
	// not stand any more: it was answered, it went away, or another one came.
	// Nothing was sent.
	ErrInteractionGone = errors.New("the question does not stand any more")

	// ErrInvalidName reports a session name that no driver accepts; see
	// [ValidateName].
	ErrInvalidName = errors.New("invalid session name")
)

// Error says which operation on which session failed, like io/fs.PathError.
type Error struct {
	Op      string // the verb: "start", "stop", "nudge", ...
	Session string // the session's name; empty for operations on all
	Err     error  // the cause, never nil
}

func (e *Error) Error() string {
	if e.Session == "" {
		return fmt.Sprintf("cannot %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("cannot %s session %q: %v", e.Op, e.Session, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StartupDeath is what an agent left that exited during start-up. It is
// [ErrSessionDiedDuringStartup] to [errors.Is].
type StartupDeath struct { //nolint:errname // it reports a death, and an error beside it
	Exit   Exit   // how it ended
	Output string // its last output, at most 80 lines
	// Last is what that says: a limit of the model provider's, and no failure. Nil if it
	// says nothing of that kind.
	Last *Evidence
}

func (e *StartupDeath) Error() string {
	s := ErrSessionDiedDuringStartup.Error() + ": agent " + e.Exit.String()
	if out := strings.TrimSpace(e.Output); out != "" {
		s += "; it printed:\n" + out
	}
	return s
}

// Is reports whether target is [ErrSessionDiedDuringStartup].
func (e *StartupDeath) Is(target error) bool { return target == ErrSessionDiedDuringStartup }

// PartialListError says that a listing is incomplete: the names beside it are
// usable, but a name that is absent proves nothing.
type PartialListError struct {
	Errs []error // one for each place that did not answer
}

func (e *PartialListError) Error() string {
	return fmt.Sprintf("listing is incomplete: %v", errors.Join(e.Errs...))
}

// Unwrap returns the causes.
func (e *PartialListError) Unwrap() []error { return e.Errs }

// IsSessionGone reports whether err says that the session is not there. Only
// [ErrSessionNotFound] counts: foreign text such as "tmux: command not found"
// never does, since it would make "stopped" of what never ran.
func IsSessionGone(err error) bool { return errors.Is(err, ErrSessionNotFound) }
