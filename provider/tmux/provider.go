// Package tmux implements the runtime provider that runs each agent in a session of a tmux server. The server
// belongs to one city: it has its own socket and its own configuration, and the user's tmux is not touched. One
// control client sends all commands and receives all output, so an operation starts no process.
//
// # Where data is stored
//
// A session is one tmux session of the same name with one pane of gc. The option @gc_instance of the pane contains
// a hash of the instance token. Every command that types or destroys something has the condition that the
// option still has this value, and the server checks the condition. Metadata are hidden variables of the session.
// The window is also linked into the hub, the session of the control client, which receives output only from its
// own windows.
//
// Data that must not be readable through tmux is in a private directory (mode 0700) for each session: the token, the
// record of what was started, and the delivery log. The agent gets its environment from a script in that
// directory. The script removes itself when it runs.
//
// The server, its sessions and the delivery logs continue to exist after this process exits. Only Start starts a
// server.
package tmux

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Config configures a Provider. Dir is required.
type Config struct {
	// Dir is the directory of the socket, the configuration and the sessions' records: private (0700), one
	// for each city.
	Dir string
	// LogDir is the directory of the raw output of each session, <name>.log. A log is written while a process
	// holds the listener lock. Empty means no logs.
	LogDir string
	// LogSize is the size in bytes at which a log is rotated; zero means fsutil.DefaultRawLogSize.
	LogSize int64
	// WorkDir is the working directory of agents that configure none. Empty means that of this process.
	WorkDir string
	// Env is the base environment of agents and set-up commands, "K=V".
	Env []string
	// Environ is the environment of gc itself. A person's tmux client runs in it, and its PATH is searched for
	// tmux. Nil means Env.
	Environ []string
	// Socket is the name of the server's socket in Dir, or an absolute path; empty means "s".
	Socket string
	// Binary is the tmux program: a name that is searched for in PATH of Environ, or a path. Empty means
	// "tmux".
	Binary string
	// Subreaper is the command that makes itself the parent of its orphaned descendants and runs its arguments in its place;
	// see proc.ExecSubreaper. With it, Stop needs only the processes of the session. Nil means that Stop searches all
	// processes of the machine by their environment.
	Subreaper []string
	// Profiles are the profiles of the known agent CLIs; nil means the built-in set.
	Profiles *agentcli.Set
	// SetupTimeout is the limit of each pre_start and set-up command; zero means [driver.DefaultSetupTimeout].
	SetupTimeout time.Duration
	// StopGrace is the time that agents have to exit after SIGTERM; zero means 5 s.
	StopGrace time.Duration
	// HumanQuiet is the time that prompts wait after the last key of an attached person; zero means
	// screen.DefaultHumanQuiet.
	HumanQuiet time.Duration
	// Logger gets warnings about problems that fail no operation; nil discards them.
	Logger *slog.Logger
}

// defaultGrace is the default of Config.StopGrace.
const defaultGrace = 5 * time.Second

// Provider runs agents in the sessions of one city's tmux server. It is safe for
// concurrent use. Several Providers may be open for one directory, in one process or in several.
type Provider struct {
	*driver.Local[*session]
	driver.Terminals[*session]

	cfg    Config
	server *tmuxServer
	panes  *paneCache
	// records caches the records that were read.
	records statedir.Cache[record]
	// observed has the first process of each session that was observed as running.
	observed proc.ObservedProcesses
	searched atomic.Bool // whether the server was searched for sessions without a record
	scanner  proc.AgentScanner

	end context.CancelFunc
}

var (
	_ runtime.Provider                    = (*Provider)(nil)
	_ runtime.Observer                    = (*Provider)(nil)
	_ runtime.Watcher                     = (*Provider)(nil)
	_ runtime.Deliverer                   = (*Provider)(nil)
	_ runtime.Recoverer                   = (*Provider)(nil)
	_ runtime.Fencer                      = (*Provider)(nil)
	_ runtime.Attacher                    = (*Provider)(nil)
	_ runtime.IdleWaitProvider            = (*Provider)(nil)
	_ runtime.DialogProvider              = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider      = (*Provider)(nil)
	_ runtime.RelaunchProvider            = (*Provider)(nil)
	_ runtime.ProcessTableScanner         = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider     = (*Provider)(nil)
	_ runtime.Sensor                      = (*Provider)(nil)
	_ runtime.Withdrawer                  = (*Provider)(nil)
	_ runtime.Settler                     = (*Provider)(nil)
	_ runtime.InputClearer                = (*Provider)(nil)
	_ runtime.InteractionProvider         = (*Provider)(nil)
)

// Open returns a Provider for the sessions in cfg.Dir. It creates the directory and starts no server. The caller
// must call Close.
func Open(cfg Config) (*Provider, error) {
	if cfg.Profiles == nil {
		cfg.Profiles = agentcli.Builtin()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.StopGrace = cmp.Or(cfg.StopGrace, defaultGrace)
	cfg.Binary, cfg.Socket = cmp.Or(cfg.Binary, "tmux"), cmp.Or(cfg.Socket, "s")
	if cfg.Environ == nil {
		cfg.Environ = cfg.Env
	}
	server, err := openServer(cfg)
	p := &Provider{cfg: cfg, server: server}
	p.Local = driver.NewLocal(driver.LocalDriver[*session]{
		Profiles: cfg.Profiles, Env: cfg.Env, WorkDir: cfg.WorkDir, SetupTimeout: cfg.SetupTimeout, Logger: cfg.Logger,
		Find: p.find, Names: p.names, Roots: p.roots, LockInput: p.lockInput, SetMeta: p.SetMeta, Translate: translate, BeforeLive: p.beforeLive,
		Backend: func(name string, cfg runtime.Config) driver.Backend {
			return &sessionBackend{provider: p, name: name, cfg: cfg}
		},
		PrivateDir: func(name string) string { return p.dir(name).Prompts() },
		Stop: func(ctx context.Context, name string, token *string) error {
			return p.stop(ctx, name, token, cfg.StopGrace)
		},
	})
	p.Terminals = driver.TerminalsOf(p.Local)
	if err == nil {
		err = statedir.MakePrivate(p.sessions())
	}
	if err != nil {
		return nil, err
	}
	p.panes = newPaneCache(p)
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // Close cancels it
	p.end = end
	p.panes.run(ctx)
	return p, nil
}

// Close disconnects from the server and stops the provider's goroutines. The sessions continue to run.
func (p *Provider) Close() error {
	p.end()
	ctx, cancel := driver.CallContext()
	defer cancel()
	err := p.server.client.Close(ctx)
	p.panes.close()
	return err
}

// fold returns err as a *runtime.Error with the operation and the session's name. It translates errors of internal
// packages to the errors of package runtime. It returns nil for nil.
func fold(op, name string, err error) error { return driver.SessionError(op, name, err, translate) }

// translate returns an error that matches the error of package runtime that corresponds to err, or err itself if
// none corresponds.
func translate(err error) error {
	return driver.TranslateError(err, []driver.ErrorTranslation{
		{From: statedir.ErrLocked, To: runtime.ErrSessionExists, Busy: true},
		{From: errOrphans, To: runtime.ErrSessionExists},
		{From: screen.ErrExited, To: runtime.ErrSessionNotFound},
		{From: errFenced, To: runtime.ErrSessionNotFound},
		{From: errServerLost, To: runtime.ErrRuntimeUnavailable},
		{From: errNoServer, To: runtime.ErrRuntimeUnavailable},
		{From: errInterrupted, To: runtime.ErrRuntimeUnavailable},
		{From: errClosed, To: runtime.ErrRuntimeUnavailable},
	})
}

// sessions returns the directory that contains the sessions' directories.
func (p *Provider) sessions() string { return filepath.Join(p.cfg.Dir, "sessions") }

// dir returns the directory of the named session.
func (p *Provider) dir(name string) statedir.Folder { return statedir.For(p.sessions(), name) }
