package runtime

import "time"

// Inspector queries sessions without changing them. Its booleans cannot express "unknown"; callers
// that act on the result use [Observe].
type Inspector interface {
	// IsRunning reports whether the named session exists and its agent has not
	// been seen to exit. It does not prove that the agent works; see
	// ProcessAlive and [Observe]. A missing session is false.
	IsRunning(name string) bool

	// IsAttached reports whether at least one terminal is connected to the named
	// session. False if the session is missing or the driver does not know; see
	// [ProviderCapabilities].
	IsAttached(name string) bool

	// ProcessAlive reports whether the session's process tree holds a live
	// process that matches one of the given names (command name, base name of
	// argv[0], or the script that an interpreter runs; never a substring).
	// Empty processNames means that no check is possible: the answer is true,
	// also for a missing session.
	ProcessAlive(name string, processNames []string) bool

	// ListRunning returns the names of all running sessions with the given prefix, sorted. No match
	// is an empty list and no error. If only a part of the backends answered, it returns their
	// names and a [PartialListError]. If none answered, the error is [ErrRuntimeUnavailable], and
	// callers must not treat the list as "no sessions".
	ListRunning(prefix string) ([]string, error)

	// GetLastActivity returns when the agent last wrote output. The zero time
	// means unknown or unsupported; a missing session is the zero time and no
	// error.
	GetLastActivity(name string) (time.Time, error)
}
