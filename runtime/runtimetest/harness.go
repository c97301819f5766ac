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
	// New opens a provider over a fresh world. dir is an empty folder with a
	// short path; all that the driver keeps belongs below it.
	New func(t T, dir string) runtime.Provider
	// Reopen opens another instance over the same world while the first one may
	// still be open, as a restarted controller would. Nil where sessions do not
	// outlive the provider value.
	Reopen func(t T, dir string) runtime.Provider
	// Agent returns a fake agent that behaves so. dir is a folder for its
	// ledger; each call gets another one. [Program] makes them
	// from the fake agent's binary.
	Agent func(t T, dir string, b Behaviour) Agent
	// Skip maps the ID of a case that the driver does not keep to the reason.
	Skip map[string]string
	// Elsewhere starts the session over the same world from another operating
	// system process and returns its error; that of [errors.Is] must match the
	// sentinel that the other process got. Nil makes the cases that need it not
	// applicable. Package elsewhere has one.
	Elsewhere func(ctx context.Context, dir, name string, cfg runtime.Config) error
	// Patience is how long a case waits for something that ought to happen before
	// it fails. Zero means 30 seconds.
	Patience time.Duration
	// Place is where the agents run. Nil is this machine.
	Place Place
}

// timeout returns Patience or its default.
func (h *Harness) timeout() time.Duration { return cmp.Or(h.Patience, 30*time.Second) }

// Place gives the suite sight of the agents beside the driver: their files and
// their processes. Implementations must be safe for concurrent use.
type Place interface {
	// ReadFile reads a file that an agent or a start step wrote. A missing file
	// matches [fs.ErrNotExist].
	ReadFile(path string) ([]byte, error)
	// Alive reports whether a process of that number runs. A zombie does not.
	Alive(pid int) bool
	// Kill ends the process at once, as kill -9.
	Kill(pid int) error
}
