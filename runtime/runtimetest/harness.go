package runtimetest

import (
	"cmp"
	"context"
	"time"

	"gascity/runtime"
)

// Harness gives the suite access to a driver and its agents. New and Agent are
// required.
type Harness struct {
	// New opens a provider over an empty world. dir is an empty directory with a short path; all
	// files of the driver must be below it.
	New func(t T, dir string) runtime.Provider
	// Reopen opens another provider over the same world while the first one may still be open, as a
	// restarted controller would. It is nil if sessions do not outlive the provider value.
	Reopen func(t T, dir string) runtime.Provider
	// Agent returns a fake agent with the given behavior. dir is a directory for its ledger, a new
	// one for each call. [Program] creates such agents from the fake agent's binary.
	Agent func(t T, dir string, b Behaviour) Agent
	// Skip maps the ID of a case that the driver cannot pass to the reason.
	Skip map[string]string
	// Elsewhere starts the session over the same world from another process and returns its error,
	// which must match the same sentinel errors as in that process. If it is nil, the cases that
	// need it are not applicable. Package elsewhere has an implementation.
	Elsewhere func(ctx context.Context, dir, name string, cfg runtime.Config) error
	// Patience is how long a case waits for an expected event before it fails. Zero means 30
	// seconds.
	Patience time.Duration
	// Place gives access to the agents' machine. Nil means this machine.
	Place Place
}

// timeout returns Patience or its default.
func (h *Harness) timeout() time.Duration { return cmp.Or(h.Patience, 30*time.Second) }

// Place gives the suite direct access to the agents' files and processes, without the driver.
// Implementations must be safe for concurrent use.
type Place interface {
	// ReadFile reads a file that an agent or a start step wrote. A missing file
	// matches [fs.ErrNotExist].
	ReadFile(path string) ([]byte, error)
	// Alive reports whether a process with this id runs. A zombie does not.
	Alive(pid int) bool
	// Kill sends SIGKILL to the process.
	Kill(pid int) error
}
