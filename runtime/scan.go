package runtime

import (
	"errors"
	"fmt"
)

// LiveRuntime is an agent process found by a scan of the process table, independent of the driver's
// records.
type LiveRuntime struct {
	// SessionID is GC_SESSION_ID in the process's environment.
	SessionID string
	// City is GC_CITY_PATH in that environment, or GC_CITY; empty if neither is readable. A scan
	// covers the whole host: a city must use only the results of its own sessions.
	City string
	// Epoch is GC_RUNTIME_EPOCH in that environment; zero if absent.
	Epoch int
	// PID is the process id, or the id that a remote backend uses for it.
	PID int
	// ProviderName is the session's name in the driver's records; empty if they do not have it.
	ProviderName string
	// IsTracked reports whether the driver's records have this process.
	IsTracked bool
}

// ProcessTableScanner is the extension of drivers that can read the process table.
type ProcessTableScanner interface {
	// FindRuntimesBySessionID returns the root processes with the id in their environment, or with
	// any id if id is empty. It may return results together with an error.
	FindRuntimesBySessionID(id string) ([]LiveRuntime, error)
	// TerminateRuntime stops the process that r describes, if it is still the same process. It
	// returns nil if the process is gone.
	TerminateRuntime(r LiveRuntime) error
}

// FindRuntimesBySessionID scans the process table. Without the extension the
// error matches [errors.ErrUnsupported].
func FindRuntimesBySessionID(p Provider, id string) ([]LiveRuntime, error) {
	if s, ok := As[ProcessTableScanner](p, ""); ok {
		return s.FindRuntimesBySessionID(id)
	}
	return nil, fmt.Errorf("cannot scan for agent processes: %w", errors.ErrUnsupported)
}

// TerminateRuntime stops a process that a scan found. Without the extension the error matches
// [errors.ErrUnsupported].
func TerminateRuntime(p Provider, r LiveRuntime) error {
	if s, ok := As[ProcessTableScanner](p, r.ProviderName); ok {
		return s.TerminateRuntime(r)
	}
	return fmt.Errorf("cannot terminate agent process %d: %w", r.PID, errors.ErrUnsupported)
}
