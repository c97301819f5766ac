// Package shimdriver implements the common part of drivers whose sessions are hosted by shims on this machine. A driver embeds
// [Sessions] and adds how prompts reach the agent, for example through a terminal or a pipe.
package shimdriver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Options are the options of a driver of local sessions. Dir and Shim are required.
type Options struct {
	// Dir is the folder of the sockets and records of the sessions. It must be private (0700), have a short path, and be used
	// for one city and one driver only.
	Dir string
	// LogDir is the folder of the raw output of sessions, one file <name>.log for each. If it is empty, raw output is not
	// stored.
	LogDir string
	// LogSize is the size in bytes at which a log is rotated; zero means fsutil.DefaultRawLogSize.
	LogSize int64
	// WorkDir is the working directory of agents that have none configured. Empty means the working directory of this process.
	WorkDir string
	// Env is the base environment of agents and setup commands, "K=V".
	Env []string
	// Shim is the command that runs a shim; the path of a session's folder is appended to it.
	Shim []string
	// Profiles describe the known agent CLIs; nil means the built-in set.
	Profiles *agentcli.Set
	// SetupTimeout bounds each pre_start and setup command; zero means driver.DefaultSetupTimeout.
	SetupTimeout time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL for an agent; zero means shim.DefaultGrace.
	StopGrace time.Duration
	// Scrollback is the number of lines of output that are stored for peek; zero means shim.DefaultScrollback.
	Scrollback int
	// HumanQuiet is how long prompts wait after the last key that an attached person typed; zero means
	// screen.DefaultHumanQuiet.
	HumanQuiet time.Duration
	// Logger gets warnings about failures that do not fail a call; nil discards them.
	Logger *slog.Logger
}

// Sessions are the sessions of one driver in one city. It is safe for concurrent use. Several processes can open Sessions for
// the same folder.
type Sessions struct {
	*driver.Local[Live]

	fleet    *shim.Fleet
	opts     Options
	terminal bool
	deliver  Deliver
	settle   Settle
	host     Host // nil if the driver has no host program
	scanner  proc.AgentScanner
}

// Deliver delivers one prompt to a session. The caller has locked the session's input.
type Deliver func(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error)

// Settle finds out the outcome of the interrupted delivery l.Delivery.
type Settle func(ctx context.Context, l Live) (runtime.Outcome, error)

// OpenTerminals opens the sessions of a driver whose agents have a terminal.
func OpenTerminals(opts Options) (*Sessions, error) {
	return open(opts, &Sessions{deliver: deliverPrompt, settle: resolvePrompt, terminal: true})
}

// OpenPipes opens the sessions of a driver whose agents have pipes.
func OpenPipes(opts Options, deliver Deliver) (*Sessions, error) {
	return open(opts, &Sessions{deliver: deliver, settle: resolvePrompt})
}

// open opens the fleet of s and sets the defaults of opts.
func open(opts Options, s *Sessions) (*Sessions, error) {
	fleet, err := shim.OpenFleet(shim.FleetOptions{Dir: opts.Dir, Command: opts.Shim})
	if err != nil {
		return nil, err
	}
	if opts.Profiles == nil {
		opts.Profiles = agentcli.Builtin()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.StopGrace = cmp.Or(opts.StopGrace, shim.DefaultGrace)
	s.fleet, s.opts = fleet, opts
	d := driver.LocalDriver[Live]{
		Profiles: opts.Profiles, Env: opts.Env, WorkDir: opts.WorkDir, SetupTimeout: opts.SetupTimeout, Logger: opts.Logger,
		Find: s.find, Names: fleet.Names, Roots: s.roots, LockInput: fleet.LockInput, PrivateDir: fleet.Dir, SetMeta: s.SetMeta,
		Backend: func(name string, cfg runtime.Config) driver.Backend {
			return &backend{sessions: s, name: name, cfg: cfg}
		},
		Stop: func(ctx context.Context, name string, token *string) error {
			_, err := fleet.Stop(ctx, name, token, opts.StopGrace)
			return err
		},
		Translate: translate, Cancel: s.cancel,
	}
	if s.host != nil {
		d.NoHints = true // the host program reports when the agent is ready
		d.Prepare = func(name string, cfg runtime.Config) (runtime.Config, error) {
			return s.host.Prepare(name, fleet.Dir(name), cfg)
		}
		d.LockInput = func(context.Context, string) (func(), error) { return func() {}, nil } // the host program handles one request at a time
	}
	s.Local = driver.NewLocal(d)
	return s, nil
}

// roots returns the first processes of the running sessions.
func (s *Sessions) roots(ctx context.Context) (map[proc.ID]string, error) {
	records, err := s.fleet.Running(ctx)
	roots := make(map[proc.ID]string, len(records))
	for _, r := range records {
		roots[r.Root] = r.Name
	}
	return roots, err
}

// ClearLost stops the processes of sessions whose shim was killed, and removes the files of these sessions.
func (s *Sessions) ClearLost(ctx context.Context) error { return translate(s.fleet.ClearLost(ctx)) }

// Close stops what this process does for the sessions. The sessions continue.
func (s *Sessions) Close() error { return s.fleet.Close() }

// ErrorOf adds the operation and the session's name to err, and replaces the shim's sentinels by those of the contract. It
// returns nil for nil.
func ErrorOf(op, name string, err error) error { return driver.SessionError(op, name, err, translate) }

// translate wraps an error of the shim with the matching sentinel of the contract. Other errors are returned unchanged.
func translate(err error) error {
	return driver.TranslateError(err, []driver.ErrorTranslation{
		{From: shim.ErrNameInUse, To: runtime.ErrSessionExists, Busy: true},
		{From: shim.ErrOrphanProcesses, To: runtime.ErrSessionExists},
		{From: shim.ErrNoShim, To: runtime.ErrSessionNotFound},
		{From: shim.ErrExited, To: runtime.ErrSessionNotFound},
		{From: screen.ErrExited, To: runtime.ErrSessionNotFound},
		{From: shim.ErrStale, To: runtime.ErrStaleInstance},
	})
}

// find returns the session with a live shim, also if its agent has exited.
func (s *Sessions) find(ctx context.Context, name string) (Live, bool, error) {
	observed, err := s.fleet.Observe(ctx, name)
	if err != nil || observed.Client == nil {
		return Live{}, false, err
	}
	r := observed.Record
	l := Live{
		Session: driver.Session{
			Name: r.Name, Instance: observed.Token, WorkDir: r.WorkDir, Exited: observed.State.Exit != nil, Attached: observed.State.Attached,
			Rules: s.rules(*r),
			Life: screen.Life{
				Name:     fmt.Sprintf("%s %d", observed.Token, r.StartedAt.UnixNano()),
				Answered: observed.State.Answered, Last: observed.State.Last,
			},
		},
		Client: observed.Client, Labels: r.Labels, Folder: s.fleet.Dir(r.Name), sessions: s, observed: observed,
	}
	if r.Terminal {
		l.Terminal = terminal{observed.Client}
	}
	return l, true, nil
}

// inspect observes the session with the name. For a name that no session can have it returns an empty observation and
// no error. op is the operation that an error names.
func (s *Sessions) inspect(ctx context.Context, op, name string) (shim.Observation, error) {
	if runtime.ValidateName(name) != nil {
		return shim.Observation{}, nil //nolint:nilerr // such a session cannot exist
	}
	observed, err := s.fleet.Observe(ctx, name)
	return observed, ErrorOf(op, name, err)
}

// Live is a session with a live shim, for the functions that send input to it or read its state.
type Live struct {
	driver.Session
	driver.Attempt // of the delivery
	Client         *shim.Client
	Labels         map[string]string
	Folder         string // the session's private folder

	sessions *Sessions
	observed shim.Observation
}

// LabelInput is the label that stores the value of the agent's GC_STDIN variable. It is used in addition to [screen.Labels].
const LabelInput = "stdin"

// InputVariable is the environment variable with which an agent's configuration declares that the agent reads prompts from
// standard input, and in which format.
const InputVariable = "GC_STDIN"

// labels returns the part of a session's configuration that other processes need later.
func labels(cfg runtime.Config) map[string]string {
	labels := screen.Labels(cfg)
	labels[LabelInput] = cfg.Env[InputVariable]
	return labels
}

// rules returns the rules with which gc reads the screen of a session, from the labels in its record.
func (s *Sessions) rules(r shim.Record) screen.Rules {
	rules := screen.RulesOf(r.Labels, s.opts.Profiles)
	rules.HumanQuiet = s.opts.HumanQuiet
	return rules
}
