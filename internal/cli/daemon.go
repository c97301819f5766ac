package cli

import (
	"context"
	"io"
	"time"

	"gascity/client"
	"gascity/internal/guard"
	"gascity/runtime"
	"gascity/worker"
)

// Daemon is what the assembly lends to the commands that need more than a
// running controller. Roots are absolute folders that hold a city.toml. Errors
// are printed as they are; those that match a sentinel of package client decide
// the exit status. All methods are called from one goroutine.
type Daemon interface {
	Processes
	Drivers
	Configs
	Starters
	AgentCLIs
	Guards
	Hooks
	Remains
	// Doctor looks for everything that can be wrong with the city and the
	// machine, without a controller if there is none, and reports each finding
	// as soon as it is made. An error means that it could not look; a problem
	// that it found is none. An empty root checks the machine alone.
	Doctor(ctx context.Context, root string, report func(Finding)) error
	// AskCLIs has each agent CLI of the city, with an empty root each that is installed,
	// answer a question, in a city that is made for it, in the same way.
	AskCLIs(ctx context.Context, root string, report func(Finding)) error
	// Bundle writes one file with all that is known of the city, without credentials; a
	// controller is not needed. What cannot be had is in the summary.
	Bundle(ctx context.Context, root string, to io.Writer) (Bundled, error)
}

// Remains is what a city leaves outside of its own files.
type Remains interface {
	// Remains finds it and changes nothing.
	Remains(ctx context.Context, root string) (client.Remains, error)
	// Uninstall ends what runs of a city without a controller, and removes what gc has made.
	// An error means that nothing was done.
	Uninstall(ctx context.Context, root string, req client.UninstallRequest) (client.Uninstalled, error)
}

// Processes are the roles that this program plays in processes of their own.
type Processes interface {
	// RunController runs the city's controller in this process. It returns nil
	// after ctx has ended or the control API has asked the controller to exit;
	// an error matching client.ErrRefused if the city has a controller already.
	// It listens on client.SocketPath(root) before it starts the first session.
	RunController(ctx context.Context, root string, opts ControllerOptions) error
	// Shim hosts one session: the hidden command that drivers start. It returns
	// the exit status.
	Shim(ctx context.Context, args []string) int
	// HostACP speaks with one agent of the Agent Client Protocol: the hidden command
	// between a shim and such an agent. It returns the exit status.
	HostACP(ctx context.Context, args []string) int
	Outposts

	// Process finds the process that has the pid now. The function reports whether
	// exactly that process has exited, even before its parent reaps it; false if
	// this cannot be determined.
	Process(pid int) (ended func() bool, err error)
}

// Outposts are the far ends of drivers.
type Outposts interface {
	// ServeOutpost serves a local provider on standard input and output, over sessions
	// that are kept below the folder. It returns when the near end has gone.
	ServeOutpost(ctx context.Context, folder, selection string) error
	// AttachOutpost connects this process's terminal to one of them.
	AttachOutpost(ctx context.Context, folder, selection, name string, opts runtime.AttachOptions) error
	// RunOutpostInit is the first process of a pod, until ctx ends; then its agents have
	// grace to end.
	RunOutpostInit(ctx context.Context, folder, selection string, grace time.Duration) error
}

// ControllerOptions are the parameters of a controller beside its city.
type ControllerOptions struct {
	// Version is reported in status and in each answer's version header.
	Version string
	// Ready is called once, when the control socket listens. It may be nil.
	Ready func()
	// Lease is the name of a lease in the cluster that the city's settings name: the
	// controller works while it holds it, and waits until then. Empty: there is none.
	Lease string
	// Retry says that a person has just started the city: failed and quarantined agents start
	// at once.
	Retry bool
}

// Drivers are the runtime providers that this program contains.
type Drivers interface {
	// Providers lists them, the default first.
	Providers(ctx context.Context) ([]client.Provider, error)
	// SessionProviders lists the selections at which sessions of the city may be: those that
	// its controller has ever opened.
	SessionProviders(root string) ([]string, error)
	// Provider opens the one that selection names ("kind" or "kind:argument")
	// over the city's sessions. The controller is not needed. An unknown
	// selection is an error matching client.ErrNotFound that lists the known.
	Provider(ctx context.Context, root, selection string) (runtime.Provider, error)
	// CheckProvider runs conformance cases on it, all or those that match a pattern, in a
	// temporary place that is gone afterwards, and reports each result. An error means that
	// they could not be run; a failed case is none. root may be empty.
	CheckProvider(ctx context.Context, root, selection string, cases []string, report func(CheckResult)) error
	// CheckOperations tries it operation by operation with one session, for the
	// author of a session script, in the same way.
	CheckOperations(ctx context.Context, root, selection string, report func(CheckResult)) error
	// ServeProvider answers one call of a session script, operation, session and
	// the rest, and returns the exit status of the wire.
	ServeProvider(ctx context.Context, root, selection string, args []string) int
}

// Starters make new cities.
type Starters interface {
	// StarterConfig returns the city.toml of a new city: commented, valid, with an agent for
	// each of the agent CLIs, else with one that can run on this machine. An unknown agent CLI
	// is client.ErrNotFound.
	StarterConfig(ctx context.Context, city string, providers []string) ([]byte, error)
	// IgnoreState has git ignore the state of a city inside a repository, and returns the file
	// that says so; empty if the city is in no repository.
	IgnoreState(root string) (file string, err error)
}

// AgentCLIs is what gc knows of agent CLIs.
type AgentCLIs interface {
	// AgentCLIs lists those that gc knows, with what is installed on this machine.
	AgentCLIs(ctx context.Context) ([]AgentCLI, error)
	// Unasked says of a city which agents run their tools without asking a person; empty if none does.
	Unasked(ctx context.Context, root string) (string, error)
	// RefusedModes returns a line for each agent whose installed agent CLI does not accept its permission mode.
	RefusedModes(ctx context.Context, root string) ([]string, error)
}

// The states of an [AgentCLI].
const (
	CLIMissing  = "not installed"
	CLIFound    = "found"    // a version that gc was tested with
	CLIUntested = "untested" // found, and gc was not tested with its version
)

// AgentCLI is an agent CLI that gc knows.
type AgentCLI struct {
	Name    string   `json:"name"`                  // the value of provider in city.toml
	Command string   `json:"command"`               // its program
	File    string   `json:"file,omitempty"`        // where the program is
	Version string   `json:"version,omitempty"`     // what the program says; empty if it does not say
	Tested  string   `json:"tested,omitempty"`      // the versions that gc was tested with; empty if none was
	State   string   `json:"state"`                 // not installed, found, untested
	Mode    string   `json:"asking_mode,omitempty"` // the permission_mode in which it asks a person
	Modes   []string `json:"permission_modes"`
}

// Configs reads and writes configurations without a controller.
type Configs interface {
	// ShowConfig resolves the configuration. A faulty one is an error.
	ShowConfig(ctx context.Context, root string) (client.Config, error)
	// CheckConfig returns every mistake and warning in it, none if it is fine.
	CheckConfig(ctx context.Context, root string) ([]ConfigFault, error)
	// ConfigSchema returns the JSON Schema of city.toml.
	ConfigSchema() ([]byte, error)
	// Prime returns the sections of an agent's startup context in a mode. An unknown
	// agent is client.ErrNotFound.
	Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error)
}

// Guards reads the rules of tools without a controller.
type Guards interface {
	// Guard returns the rules of the city, with more rule sets, by their names or
	// files. A faulty configuration is an error.
	Guard(ctx context.Context, root string, more []string) (Guarding, error)
	// GuardCalls returns the recorded calls that are not older than since, the oldest
	// first.
	GuardCalls(ctx context.Context, root string, since time.Time) ([]guard.Call, error)
}

// Hooks are those of agent CLIs that are started by hand.
type Hooks interface {
	// InstallHooks writes an agent CLI's hooks into a folder of its own, and returns the
	// command line that starts it with them. What is not known is client.ErrNotFound.
	InstallHooks(name, dir string) (launch string, err error)
	// UninstallHooks removes them. That they are not there is no error.
	UninstallHooks(name, dir string) error
}

// Guarding is what the rules of a city come to.
type Guarding struct {
	Policy     *guard.Policy
	On         bool          // the city has a guard; without it everything is allowed
	AskTimeout time.Duration // how long a person has
	// Agent returns what is known of an agent; client.ErrNotFound.
	Agent func(name string) (guard.Request, error)
}

// ConfigFault is one mistake in a configuration.
type ConfigFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; zero if it concerns the whole file
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Message string `json:"message"`
	Excerpt string `json:"excerpt,omitempty"` // the line and a caret below it
	Hint    string `json:"hint,omitempty"`    // "did you mean ...?"
	Alone   bool   `json:"alone,omitempty"`   // it keeps one agent from running, and no other
	Warning bool   `json:"warning,omitempty"` // it is no mistake: something has no effect, or not the expected one
}

// The levels of a [Finding].
const (
	LevelOK      = "ok"
	LevelWarning = "warning" // works, but not as well as it could
	LevelProblem = "problem" // does not work until it is cured
)

// Bundled says what a bundle has: its pages, and those that could not be had, wholly or
// in part, with the reason.
type Bundled struct {
	Pages   []string  `json:"pages"`
	Missing []Missing `json:"missing"`
}

// Missing is a page that could not be had.
type Missing struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Finding is one thing that the doctor looked at.
type Finding struct {
	Check   string `json:"check"` // stable: "config", "socket", "agent.worker.command"
	Level   string `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to do, preferably a command
}

// The results of a conformance case.
const (
	CheckPass = "pass"
	CheckFail = "fail"
	CheckSkip = "skip"
)

// CheckResult is the result of one conformance case.
type CheckResult struct {
	ID       string        `json:"id"`       // "start.duplicate"
	Sentence string        `json:"sentence"` // what the contract says
	Result   string        `json:"result"`
	Detail   string        `json:"detail,omitempty"` // why it failed or was skipped
	Took     time.Duration `json:"took_ns"`
}
