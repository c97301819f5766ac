package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// The sentinel errors of the contract. Drivers convert messages of other programs into one of
// them next to the call that produced the message. Callers test with [errors.Is].
var (
	// ErrSessionExists reports that a live session already has the name.
	ErrSessionExists = errors.New("session already exists")

	// ErrSessionInitializing reports that a session's infrastructure exists but
	// is still starting up. Callers back off and retry.
	ErrSessionInitializing = errors.New("session is initializing")

	// ErrInteractionUnsupported reports that the session's driver has no
	// structured pending and respond.
	ErrInteractionUnsupported = errors.New("session interaction is unsupported")

	// ErrSessionDiedDuringStartup reports that the agent's process was created but exited before
	// start-up was complete. This is a failure of the agent and not of the driver. [StartupDeath]
	// has its last output.
	ErrSessionDiedDuringStartup = errors.New("session died during startup")

	// ErrSessionNotFound reports that the driver has no such session. It is harmless for Stop, and
	// a failure for a caller that must reach the agent.
	ErrSessionNotFound = errors.New("session not found")

	// ErrExecUnsupported reports that the session's backend cannot run commands.
	ErrExecUnsupported = errors.New("runtime does not implement the exec op")

	// ErrRelaunchUnsupported reports that the driver cannot start the agent again in its existing
	// sandbox (the warm box); callers stop and start instead.
	ErrRelaunchUnsupported = errors.New("runtime does not support warm-box relaunch")

	// ErrAttachUnsupported reports that the session has no terminal to attach to.
	ErrAttachUnsupported = errors.New("session has no terminal to attach to")

	// ErrTerminalWatchOnly reports that a terminal was opened to watch the session, so nothing was typed.
	ErrTerminalWatchOnly = errors.New("the terminal was opened to watch only")

	// ErrInputUnsupported reports that the agent does not declare how it reads prompts.
	ErrInputUnsupported = errors.New("session reads no prompts")

	// ErrStaleInstance reports that a call named an instance that is no
	// longer the session's current one. Nothing was done.
	ErrStaleInstance = errors.New("stale instance")

	// ErrRuntimeUnavailable reports that nothing could be observed. It never proves that a session
	// is gone.
	ErrRuntimeUnavailable = errors.New("runtime unavailable")

	// ErrInteractionGone reports that the question is not open any more: it was answered, it
	// disappeared, or another one replaced it. Nothing was sent.
	ErrInteractionGone = errors.New("the question is not open any more")

	// ErrInvalidName reports a session name that no driver accepts; see
	// [ValidateName].
	ErrInvalidName = errors.New("invalid session name")
)

// Error is a failed operation on a session, like io/fs.PathError.
type Error struct {
	Op      string // operation: "start", "stop", "nudge", ...
	Session string // the session's name; empty for operations on all
	Err     error  // the cause, never nil
}

// Error implements error.
func (e *Error) Error() string {
	if e.Session == "" {
		return fmt.Sprintf("cannot %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("cannot %s session %q: %v", e.Op, e.Session, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StartupDeath describes an agent that exited during start-up. It matches
// [ErrSessionDiedDuringStartup].
type StartupDeath struct { //nolint:errname // the name describes the event
	Exit   Exit   // how it ended
	Output string // its last output, at most 80 lines
	// Last is set if the output shows a limit of the model provider and not a failure. Otherwise it
	// is nil.
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

// PartialListError reports that a listing is incomplete. The returned names are valid, but a
// missing name proves nothing.
type PartialListError struct {
	Errs []error // one for each backend that did not answer
}

func (e *PartialListError) Error() string {
	return fmt.Sprintf("listing is incomplete: %v", errors.Join(e.Errs...))
}

// Unwrap returns the causes.
func (e *PartialListError) Unwrap() []error { return e.Errs }

// IsSessionGone reports whether err means that the session does not exist. Only
// [ErrSessionNotFound] counts. A message of another program such as "tmux: command not found" does
// not count, because then a session that gc could not observe would be reported as stopped.
func IsSessionGone(err error) bool { return errors.Is(err, ErrSessionNotFound) }
