// Package shimdriver is what the drivers share whose sessions are hosted by shims on
// this machine: everything but the way in, which is a terminal for one and a
// pipe for another. A driver embeds [Sessions] and adds that.
package shimdriver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/proc/envscan"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Options are what a driver of local sessions needs. Dir and Shim are required.
type Options struct {
	// Dir holds the sockets and records of the sessions: private (0700), short,
	// one for each city and driver.
	Dir string
	// LogDir holds the raw output of each session as <name>.log. Empty keeps none.
	LogDir string
	// LogSize is how many bytes a log grows to before it is rotated; zero means
	// shim.DefaultLogSize.
	LogSize int64
	// WorkDir is where agents without one run. Empty means the process's own.
	WorkDir string
	// Env is the base environment of agents and set-up commands, "K=V".
	Env []string
	// Shim is the command that runs a shim; a folder is appended to it.
	Shim []string
	// Profiles is what is known of agent CLIs; nil means the built-in set.
	Profiles *agentcli.Set
	// SetupTimeout bounds each pre_start and set-up command; zero means launch's.
	SetupTimeout time.Duration
	// StopGrace is how long agents get to end by themselves; zero means
	// shim.DefaultGrace.
	StopGrace time.Duration
	// Scrollback is how many lines of output are kept for peek; zero means
	// shim.DefaultScrollback.
	Scrollback int
	// HumanQuiet is how long prompts wait after the last key of a person who is
	// attached; zero means screen.DefaultHumanQuiet.
	HumanQuiet time.Duration
	// Logger gets warnings that fail nothing; nil drops them.
	Logger *slog.Logger
}

// Sessions are the sessions of one driver in one city. It is safe for concurrent
// use, and several may be open over one folder in several processes.
type Sessions struct {
	fleet    *shim.Fleet
	opts     Options
	terminal bool
	deliver  Deliver
	settle   Settle
	host     Host // nil without one
	memory   screen.Memory
	searcher envscan.Searcher
}

// Deliver brings one prompt to a session whose input is the caller's alone.
type Deliver func(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error)

// Settle finds out the outcome of a delivery that was cut off, l.Delivery.
type Settle func(ctx context.Context, l Live) (runtime.Outcome, error)

// OpenTerminals opens the sessions of a driver whose agents have a terminal.
func OpenTerminals(opts Options, deliver Deliver, settle Settle) (*Sessions, error) {
	s, err := open(opts, deliver, settle)
	if err == nil {
		s.terminal = true
	}
	return s, err
}

// OpenPipes opens the sessions of a driver whose agents have pipes.
func OpenPipes(opts Options, deliver Deliver, settle Settle) (*Sessions, error) {
	return open(opts, deliver, settle)
}

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

// Close ends what this process does for the sessions. They go on.
func (s *Sessions) Close() error { return s.fleet.Close() }

// patience bounds the operations of the contract that have no context.
const patience = 30 * time.Second

// bounded returns the context of an operation whose signature has none.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience) //nolint:forbidigo // the contract's method has no ctx
}

// ErrorOf names operation and session and puts the contract's sentinels in the
// place of the shim's.
func ErrorOf(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if _, already := errors.AsType[*runtime.Error](err); already {
		return err
	}
	return &runtime.Error{Op: op, Session: name, Err: translate(err)}
}

func translate(err error) error {
	for _, pair := range []struct{ from, to error }{
		{shim.ErrNameInUse, runtime.ErrSessionExists},
		{shim.ErrOrphanProcesses, runtime.ErrSessionExists},
		{shim.ErrNoShim, runtime.ErrSessionNotFound},
		{shim.ErrExited, runtime.ErrSessionNotFound},
		{screen.ErrExited, runtime.ErrSessionNotFound},
		{shim.ErrStale, runtime.ErrStaleInstance},
	} {
		if errors.Is(err, pair.from) {
			return &translated{sentinel: pair.to, err: err}
		}
	}
	return err
}

// translated is a shim's error that is the contract's sentinel to [errors.Is].
type translated struct{ sentinel, err error }

func (t *translated) Error() string {
	switch {
	case errors.Is(t.err, shim.ErrNameInUse):
		return t.sentinel.Error() + ": its agent runs or is being started; stop it first"
	case errors.Is(t.sentinel, runtime.ErrSessionExists):
		return t.err.Error() // which says what runs, and the remedy
	}
	return t.sentinel.Error()
}
func (t *translated) Unwrap() []error { return []error{t.sentinel, t.err} }

// live returns the session's live shim; [runtime.ErrSessionNotFound] if it has
// none or its agent has ended.
func (s *Sessions) live(ctx context.Context, op, name string) (shim.Observation, error) {
	sight, err := s.inspect(ctx, op, name)
	if err == nil && (sight.Client == nil || sight.State.Exit != nil) {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return sight, err
}

func (s *Sessions) inspect(ctx context.Context, op, name string) (shim.Observation, error) {
	if runtime.ValidateName(name) != nil {
		return shim.Observation{}, nil //nolint:nilerr // such a session cannot exist
	}
	sight, err := s.fleet.Observe(ctx, name)
	return sight, ErrorOf(op, name, err)
}

// Live is a session that can be driven.
type Live struct {
	Name     string
	WorkDir  string
	Terminal screen.Terminal // nil without one
	Rules    screen.Rules
	Client   *shim.Client
	Labels   map[string]string
	Delivery string // the name of the delivery in the journal
	Once     bool   // the delivery was given that name: there is no other of it
	Folder   string // the session's own, private
	Instance string // its token

	life screen.Life
}

// Drive calls drive with the session's input to itself: no other delivery, also
// of another process, comes in between. instance is the token of the instance
// that is meant; nil means any.
func (s *Sessions) Drive(ctx context.Context, op, name string, instance *string, drive func(Live) error) error {
	sight, err := s.live(ctx, op, name)
	if err != nil {
		return err
	}
	if instance != nil && *instance != sight.Token {
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	if s.host == nil {
		unlock, err := s.fleet.LockInput(ctx, name)
		if err != nil {
			return ErrorOf(op, name, err)
		}
		defer unlock()
	}
	return ErrorOf(op, name, drive(s.liveOf(sight)))
}

// Session returns the session without taking its input, for looking at it.
func (s *Sessions) Session(ctx context.Context, op, name string) (Live, error) {
	sight, err := s.live(ctx, op, name)
	if err != nil {
		return Live{}, err
	}
	return s.liveOf(sight), nil
}

func (s *Sessions) liveOf(sight shim.Observation) Live {
	live := Live{
		Name: sight.Record.Name, WorkDir: sight.Record.WorkDir, Client: sight.Client,
		Labels: sight.Record.Labels, Rules: s.rules(*sight.Record),
		Folder: s.fleet.Dir(sight.Record.Name), Instance: sight.Token,
		life: lifeOf(sight),
	}
	if sight.Record.Terminal {
		live.Terminal = terminal{sight.Client}
	}
	return live
}

// LabelInput is the label with the word of the agent's GC_STDIN variable, beside
// [screen.Labels].
const LabelInput = "stdin"

// InputVariable is the variable by which an agent's configuration declares that it
// reads prompts from its standard input, and how.
const InputVariable = "GC_STDIN"

// labels returns what later processes need of a session's configuration.
func labels(cfg runtime.Config) map[string]string {
	labels := screen.Labels(cfg)
	labels[LabelInput] = cfg.Env[InputVariable]
	return labels
}

func (s *Sessions) rules(r shim.Record) screen.Rules {
	rules := screen.RulesOf(r.Labels, s.opts.Profiles)
	rules.HumanQuiet = s.opts.HumanQuiet
	return rules
}

func (s *Sessions) workDir() (string, error) {
	if s.opts.WorkDir != "" {
		return s.opts.WorkDir, nil
	}
	return os.Getwd()
}
