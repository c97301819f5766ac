package cli

import (
	"context"
	"io"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/guard"
	"gascity/runtime"
	"gascity/worker"
)

// Daemon has the functions with effects that commands need beyond a running
// controller; package app implements it. A root is the absolute path of a directory
// with a city.toml. Errors are printed unchanged; those that match a sentinel of
// package client set the exit status. All methods are called from one goroutine.
type Daemon interface {
	Processes
	Drivers
	Configs
	Starters
	AgentCLIs
	Guards
	Hooks
	Remains
	Links
	StartPages
	// Doctor checks the city and the machine and reports each finding at once. No
	// controller is needed. A problem that it finds is a finding; an error means that
	// the checks could not be made. With an empty root it checks the machine alone.
	Doctor(ctx context.Context, root string, report func(client.Finding)) error
	// AskCLIs sends a prompt to each agent CLI, in a temporary city, and reports each
	// result as Doctor does. It asks the agent CLIs of the city, or with an empty root
	// every installed one.
	AskCLIs(ctx context.Context, root string, report func(client.Finding)) error
	// Bundle writes one archive with diagnostics of the city, without credentials. No
	// controller is needed. The result lists the entries that could not be read.
	Bundle(ctx context.Context, root string, to io.Writer) (Bundled, error)
}

// Links are the functions that open a link of the web console.
type Links interface {
	// SaveWebLink writes a page that redirects to the link into the city's state directory. Only the
	// user can read it. It returns its path.
	SaveWebLink(root, link string) (path string, err error)
	// OpenFile opens a file with the program of the desktop for its type.
	OpenFile(ctx context.Context, path string) error
}

// StartPages serves the page on which a person makes a first city.
type StartPages interface {
	// ServeStartPage serves the page until the city runs. It returns an error that matches
	// client.ErrTimeout if the link is not opened or no city is made in time.
	ServeStartPage(ctx context.Context, page StartPage) error
}

// StartPage are the parameters of the page.
type StartPage struct {
	Folder string // proposed for the city
	Listen string // address and port; empty: any free port of 127.0.0.1
	Dev    string // see client.WebRequest
	// Ready is called with the link that signs a browser in, and a file that opens it.
	Ready func(link, file string) error
	// Create makes a city and starts it. It may be called again after an error.
	Create func(ctx context.Context, req StartRequest) (StartedCity, error)
}

// StartRequest describes a city to make.
type StartRequest struct {
	Folder   string // absolute; it may be missing
	Provider string // an agent CLI; empty: a shell
	Prompt   string // the first prompt; empty: none
}

// StartedCity is a city that runs.
type StartedCity struct {
	Root  string
	Agent string
	Link  string // signs the browser in to the web console of the city
}

// Remains finds and removes what gc has created for a city.
type Remains interface {
	// Remains lists what gc has created for the city. It changes nothing.
	Remains(ctx context.Context, root string) (client.Remains, error)
	// Uninstall stops the processes of a city that has no controller, and removes what gc has
	// created. An error means that nothing was stopped or removed.
	Uninstall(ctx context.Context, root string, req client.UninstallRequest) (client.Uninstalled, error)
}

// Processes are the functions that run this program as another kind of process.
type Processes interface {
	// RunController runs the city's controller in this process. It returns nil
	// after ctx has ended or after a request to stop. The error matches
	// client.ErrRefused if the city has a controller already. It listens on
	// client.SocketPath(root) before it starts the first session.
	RunController(ctx context.Context, root string, opts ControllerOptions) error
	// Shim runs the process that owns one session, which drivers start with the
	// hidden command shim. It returns the exit status.
	Shim(ctx context.Context, args []string) int
	// HostACP runs the process between a shim and one agent that speaks the Agent
	// Client Protocol (the hidden command acp-host). It returns the exit status.
	HostACP(ctx context.Context, args []string) int
	Outposts

	// Process finds the process that has the pid now. The returned function reports
	// whether exactly that process has exited, even before its parent reaps it. It
	// returns false if that cannot be determined.
	Process(pid int) (ended func() bool, err error)
}

// Outposts are the functions that drivers run on another host or in a pod.
type Outposts interface {
	// ServeOutpost serves a local provider on standard input and output. The state of
	// its sessions is below the directory folder. It returns when the connection ends.
	ServeOutpost(ctx context.Context, folder, selection string) error
	// AttachOutpost connects this process's terminal to a session of that provider.
	AttachOutpost(ctx context.Context, folder, selection, name string, opts runtime.AttachOptions) error
	// RunOutpostInit runs as the first process of a pod until ctx ends. Then it stops the
	// agents, which have the time grace to exit.
	RunOutpostInit(ctx context.Context, folder, selection string, grace time.Duration) error
}

// ControllerOptions are the parameters of a controller, except the city directory.
type ControllerOptions struct {
	// Version is reported in status and in each answer's version header.
	Version string
	// Ready is called once, when the control socket listens. It may be nil.
	Ready func()
	// Lease is the name of a Kubernetes Lease in the cluster that city.toml names. The
	// controller waits until it holds the lease. Empty: no lease is used.
	Lease string
	// Retry makes the controller start failed and quarantined agents at once, because a
	// person has just started the city.
	Retry bool
}

// Drivers are the runtime providers that this program contains.
type Drivers interface {
	// Providers lists them, the default first.
	Providers(ctx context.Context) ([]client.Provider, error)
	// SessionProviders lists the providers that may have sessions of the city: all that its
	// controller has ever opened, as selections.
	SessionProviders(root string) ([]string, error)
	// Provider opens the provider that selection names ("kind" or "kind:argument"), with
	// the city's sessions. No controller is needed. For an unknown selection the error
	// matches client.ErrNotFound and lists the known ones.
	Provider(ctx context.Context, root, selection string) (runtime.Provider, error)
	// CheckProvider runs conformance cases on a provider in a temporary directory and
	// reports each result: all cases, or those that match a pattern. A failed case is a
	// result; an error means that the cases could not be run. root may be empty.
	CheckProvider(ctx context.Context, root, selection string, cases []string, report func(CheckResult)) error
	// CheckOperations tests each operation of a session script with one session, and
	// reports each result as CheckProvider does.
	CheckOperations(ctx context.Context, root, selection string, report func(CheckResult)) error
	// ServeProvider runs one call of a session script. args are the operation, the session
	// and further arguments. It returns the exit status of the session script protocol.
	ServeProvider(ctx context.Context, root, selection string, args []string) int
}

// Starters are the functions that create new cities.
type Starters interface {
	// StarterConfig returns a valid city.toml with comments. It has one agent for each of the
	// agent CLIs in providers. Without any it has one agent that can run on this machine. For an
	// unknown agent CLI the error matches client.ErrNotFound.
	StarterConfig(ctx context.Context, city string, providers []string) ([]byte, error)
	// IgnoreState makes git ignore the state of a city inside a repository. It returns the path
	// of the changed file; empty if the city is in no repository.
	IgnoreState(root string) (file string, err error)
}

// AgentCLIs are the functions about agent CLIs.
type AgentCLIs interface {
	// AgentCLIs lists the agent CLIs that gc supports, with the versions installed on this machine.
	AgentCLIs(ctx context.Context) ([]agentcli.InstalledCLI, error)
	// Unasked returns a warning that names the agents of a city whose tools run without asking a
	// person; empty if there are none.
	Unasked(ctx context.Context, root string) (string, error)
	// RefusedModes returns a line for each agent whose installed agent CLI does not accept its permission mode.
	RefusedModes(ctx context.Context, root string) ([]string, error)
}

// Configs reads and writes configurations without a controller.
type Configs interface {
	// ShowConfig returns the resolved configuration. A mistake in it is an error.
	ShowConfig(ctx context.Context, root string) (client.Config, error)
	// CheckConfig returns every mistake and warning in the configuration.
	CheckConfig(ctx context.Context, root string) ([]client.ConfigFault, error)
	// ConfigSchema returns the JSON Schema of city.toml.
	ConfigSchema() ([]byte, error)
	// Prime returns the sections of an agent's startup context in a mode. For an unknown
	// agent the error matches client.ErrNotFound.
	Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error)
}

// Guards reads the guard rules and recorded tool calls without a controller.
type Guards interface {
	// Guard returns the rules of the city together with the rule sets in more, which are
	// names or paths of files. A mistake in the configuration is an error.
	Guard(ctx context.Context, root string, more []string) (Guarding, error)
	// GuardCalls returns the recorded tool calls since a time, oldest first.
	GuardCalls(ctx context.Context, root string, since time.Time) ([]guard.Call, error)
}

// Hooks installs the hooks of agent CLIs that a person starts without gc.
type Hooks interface {
	// InstallHooks writes an agent CLI's hooks into the directory dir, and returns the
	// command line that starts the agent CLI with them. For an unknown name the error
	// matches client.ErrNotFound.
	InstallHooks(name, dir string) (launch string, err error)
	// UninstallHooks removes the hooks from dir. Missing hooks are no error.
	UninstallHooks(name, dir string) error
}

// Guarding is the resolved guard of a city.
type Guarding struct {
	Policy     *guard.Policy
	On         bool          // city.toml has a [guard]; without one everything is allowed
	AskTimeout time.Duration // how long a person has to answer
	// Agent returns a request with the role, directories and other data of an agent. For an
	// unknown agent the error matches client.ErrNotFound.
	Agent func(name string) (guard.Request, error)
}

// Bundled lists the contents of a support bundle: its entries, and those that are missing
// or incomplete.
type Bundled struct {
	Pages   []string  `json:"pages"`
	Missing []Missing `json:"missing"`
}

// Missing is an entry of a bundle that could not be read completely, with the reason.
type Missing struct {
	Name  string `json:"name"`
	Error string `json:"error"`
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
	Sentence string        `json:"sentence"` // the requirement that it tests
	Result   string        `json:"result"`
	Detail   string        `json:"detail,omitempty"` // why it failed or was skipped
	Took     time.Duration `json:"took_ns"`
}
