// Package startup is the start sequence of package runtime, written once for all
// drivers that run agents on this machine. A driver brings a [Backend]; the
// [Sequence] does the rest in the documented order, and undoes what it did when
// a step fails or the caller gives up.
package startup

import (
	"context"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// DefaultSetupTimeout bounds each set-up command.
const DefaultSetupTimeout = 10 * time.Second

// Backend is the place for one session, as a driver provides it. Its methods are
// called one after the other.
type Backend interface {
	// Claim takes the name; [runtime.ErrSessionExists] if a live session has it.
	// A dead session of that name is removed.
	Claim(ctx context.Context) error
	// Create starts the command. It returns when the process exists or cannot.
	Create(ctx context.Context, spec Spec) error
	// Terminal returns the session's terminal; nil if it has none. It is asked
	// for after Create.
	Terminal() screen.Terminal
	// Life looks at the agent; while it lives, it waits up to wait for its end.
	Life(ctx context.Context, wait time.Duration) (Life, error)
	// Destroy stops whatever Create started, removes every trace and gives up
	// the claim. It is called after Claim succeeded, also if Create failed.
	Destroy(ctx context.Context) error
}

// Life is what a look at an agent found.
type Life struct {
	Alive  bool
	Exit   runtime.Exit // valid unless Alive
	Output string       // its last output, at most 80 lines; valid unless Alive
}

// Spec is what a Box is to run.
type Spec struct {
	Name     string
	Instance string            // the instance token, also in Vars
	Command  string            // for sh -c; empty means a default shell
	WorkDir  string            // exists; empty means the driver's own folder
	Vars     map[string]string // to set on top of the base environment
	Unset    []string          // to take out of it
}

// Sequence starts sessions. Box and Profiles are required.
type Sequence struct {
	Backend  Backend
	Profiles *agentcli.Set

	// Environ is the base environment ("K=V") of set-up commands and, through
	// [Spec.Environ], of the agent.
	Environ []string
	// PrivateDir is a folder, made with mode 0700 when needed, for prompts too
	// long for a command line. Empty: such prompts are typed.
	PrivateDir string
	// Stage puts overlays and files into the working directory; nil stages nothing.
	Stage func(ctx context.Context, cfg runtime.Config) error
	// Deliver brings a prompt to the running agent under the driver's input
	// lock; nil means inject.Type on the box's terminal.
	Deliver func(ctx context.Context, text string) (runtime.Outcome, error)
	// Warn gets what went wrong without failing the start: a [*StepError] that may
	// hold a [*BlockedError], an [*UndeliveredError] or a [*CommandError]. Nil
	// drops it.
	Warn func(err error)
	// SetupTimeout bounds each command; zero is DefaultSetupTimeout.
	SetupTimeout time.Duration
}
