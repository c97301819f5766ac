// Package shimdriver implements the common part of drivers whose sessions are hosted by shims on this machine. A driver embeds
// [Sessions] and adds how prompts reach the agent, for example through a terminal or a pipe.
package shimdriver

import (
	"cmp"
	"context"
	"log/slog"
	"os"
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
	fleet    *shim.Fleet
	opts     Options
	terminal bool
	deliver  Deliver
	settle   Settle
	host     Host // nil if the driver has no host program
	memory   screen.Memory
	scanner  proc.AgentScanner
}

// Deliver delivers one prompt to a session. The caller has locked the session's input.
type Deliver func(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error)

// Settle finds out the outcome of the interrupted delivery l.Delivery.
type Settle func(ctx context.Context, l Live) (runtime.Outcome, error)

// OpenTerminals opens the sessions of a driver whose agents have a terminal.
func OpenTerminals(opts Options) (*Sessions, error) {
	s, err := open(opts, deliverPrompt, resolvePrompt)
	if err == nil {
		s.terminal = true
	}
	return s, err
}

// OpenPipes opens the sessions of a driver whose agents have pipes.
func OpenPipes(opts Options, deliver Deliver) (*Sessions, error) {
	return open(opts, deliver, resolvePrompt)
}

// open opens the fleet and sets the defaults of opts.
func open(opts Options, deliver Deliver, settle Settle) (*Sessions, error) {
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
	return &Sessions{fleet: fleet, opts: opts, deliver: deliver, settle: settle}, nil
}

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

// live returns the observation of a session with a live shim and agent. It returns [runtime.ErrSessionNotFound] if the session
// has no live shim or its agent has exited.
func (s *Sessions) live(ctx context.Context, op, name string) (shim.Observation, error) {
	observed, err := s.inspect(ctx, op, name)
	if err == nil && (observed.Client == nil || observed.State.Exit != nil) {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return observed, err
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

// Live is a running session, for the functions that send input to it or read its state.
type Live struct {
	Name     string
	WorkDir  string
	Terminal screen.Terminal // nil if the session has none
	Rules    screen.Rules
	Client   *shim.Client
	Labels   map[string]string
	Delivery string // the ID of the delivery in the journal
	Attempt  int    // the number of the attempt to deliver it; zero: not counted
	Once     bool   // the caller chose that ID: no other delivery has it
	Folder   string // the session's private folder
	Instance string // the instance token

	life     screen.Life
	delivers bool // see shim.State
}

// Drive calls drive with the session's input locked, so that no other delivery, also of another process, can come in between.
// If instance is not nil, the session must have that instance token.
func (s *Sessions) Drive(ctx context.Context, op, name string, instance *string, drive func(Live) error) error {
	observed, err := s.live(ctx, op, name)
	if err != nil {
		return err
	}
	if instance != nil && *instance != observed.Token {
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	if s.host == nil {
		unlock, err := s.fleet.LockInput(ctx, name)
		if err != nil {
			return ErrorOf(op, name, err)
		}
		defer unlock()
	}
	return ErrorOf(op, name, drive(s.liveOf(observed)))
}

// Session returns the session without locking its input, for reading its state.
func (s *Sessions) Session(ctx context.Context, op, name string) (Live, error) {
	observed, err := s.live(ctx, op, name)
	if err != nil {
		return Live{}, err
	}
	return s.liveOf(observed), nil
}

// liveOf returns the Live for a session with a live shim.
func (s *Sessions) liveOf(observed shim.Observation) Live {
	live := Live{
		Name: observed.Record.Name, WorkDir: observed.Record.WorkDir, Client: observed.Client,
		Labels: observed.Record.Labels, Rules: s.rules(*observed.Record),
		Folder: s.fleet.Dir(observed.Record.Name), Instance: observed.Token,
		life: lifeOf(observed), delivers: observed.State.Delivers,
	}
	if observed.Record.Terminal {
		live.Terminal = terminal{observed.Client}
	}
	return live
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

// workDir returns the working directory of sessions that name none: that of the options, else the current directory.
func (s *Sessions) workDir() (string, error) {
	if s.opts.WorkDir != "" {
		return s.opts.WorkDir, nil
	}
	return os.Getwd()
}
