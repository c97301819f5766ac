package driver

import (
	"context"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// DefaultSetupTimeout is the default timeout of each setup command.
const DefaultSetupTimeout = 10 * time.Second

// Backend creates and destroys one session of a driver. Its methods are never called at the same time.
type Backend interface {
	// Claim acquires the name of the session. It returns [runtime.ErrSessionExists] if a live session has the name. It removes
	// a dead session of that name.
	Claim(ctx context.Context) error
	// Create starts the command. It returns when the process exists, or an error if it cannot be started.
	Create(ctx context.Context, spec StartSpec) error
	// Terminal returns the session's terminal, or its output as a terminal. It is called after Create.
	Terminal() screen.Terminal
	// AgentLife returns whether the agent runs. If it runs, Life waits for its exit, for at most wait.
	Life(ctx context.Context, wait time.Duration) (AgentLife, error)
	// Destroy stops all that Create started, removes the files of the session and releases the name. It is called after Claim
	// succeeded, also if Create failed.
	Destroy(ctx context.Context) error
}

// AgentLife is the state of an agent's process.
type AgentLife struct {
	Alive  bool
	Exit   runtime.Exit // valid if Alive is false
	Output string       // its last output, at most 80 lines; valid if Alive is false
}

// StartSpec describes what a [Backend] runs.
type StartSpec struct {
	Name     string
	Instance string            // the instance token, also in Vars
	Command  string            // for sh -c; empty means a default shell
	WorkDir  string            // must exist; empty means the driver's default folder
	Vars     map[string]string // variables to add to the base environment
	Unset    []string          // variables to remove from the base environment
}

// StartSequence starts sessions. Fields are required unless their comment says otherwise.
type StartSequence struct {
	Backend  Backend
	Profiles *agentcli.Set

	// Environ is the base environment ("K=V") of setup commands and, through [StartSpec.Environ], of the agent.
	Environ []string
	// PrivateDir is a folder for prompts that are too long for a command line. It is created with mode 0700 if it is missing.
	// If PrivateDir is empty, such prompts are typed.
	PrivateDir string
	// Stage copies overlays and files into the working directory.
	Stage func(ctx context.Context, cfg runtime.Config) error
	// Deliver delivers a prompt to the running agent and holds the driver's input lock meanwhile.
	Deliver func(ctx context.Context, text string) (runtime.Outcome, error)
	// Warn is called for failures that do not fail the start. err is a [*StepError] that may wrap a [*BlockedError], an
	// [*UndeliveredError] or a [*CommandError].
	Warn func(err error)
	// SetupTimeout bounds each setup command; zero means DefaultSetupTimeout.
	SetupTimeout time.Duration
}
