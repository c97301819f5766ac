package runtime

import (
	"errors"
	"fmt"
)

// LiveRuntime is an agent process found by a scan of the process table,
// whatever the driver's own books say.
type LiveRuntime struct {
	// SessionID is GC_SESSION_ID in the process's environment.
	SessionID string
	// City is GC_CITY_PATH there, or GC_CITY; empty if neither is readable. A
	// scan covers the host: the owner of one city must look at its own sessions
	// only.
	City string
	// Epoch is GC_RUNTIME_EPOCH there, zero if absent.
	Epoch int
	// PID is the process, or a remote place's own number for it.
	PID int
	// ProviderName is the session's name in the driver's books, empty if it is
	// not in them.
	ProviderName string
	// IsTracked is true if the driver's books hold this very process.
	IsTracked bool
}

// ProcessTableScanner is the extension of drivers that can look into the
// process table.
type ProcessTableScanner interface {
	// FindRuntimesBySessionID returns the root processes that carry the id, or
	// any id if id is empty. Results may come together with an error.
	FindRuntimesBySessionID(id string) ([]LiveRuntime, error)
	// TerminateRuntime ends the process that r describes, if it is still that
	// process. One that is gone is nil.
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

// TerminateRuntime ends a scanned process. Without the extension the error
// matches [errors.ErrUnsupported].
func TerminateRuntime(p Provider, r LiveRuntime) error {
	if s, ok := As[ProcessTableScanner](p, r.ProviderName); ok {
		return s.TerminateRuntime(r)
	}
	return fmt.Errorf("cannot terminate agent process %d: %w", r.PID, errors.ErrUnsupported)
}
