// Package tmux is the driver that runs each agent in a session of a tmux server that
// belongs to the city alone: own socket, own configuration, the user's tmux untouched.
// One control client answers all questions and hears all output; nothing is forked for
// an operation.
//
// # What is where
//
// A session is one tmux session of the same name with one pane of ours. The pane carries a hash of
// the instance token (@gc_instance); every act that types or destroys is carried out by the server
// under the condition that the pane still has it. Metadata are hidden variables of the session. The
// window is linked into the hub, the session of the control client, or its output could not be read.
//
// What must not be read from tmux lies in a private folder (0700) for each session: the
// token, the record of what was started, and the account of deliveries. The agent's
// environment travels by a file there that removes itself when it is read.
//
// The server, its sessions and that account outlive this process. Nothing but Start
// starts a server.
package tmux

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/proc/envscan"
	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// Config is what the driver needs. Dir is required.
type Config struct {
	// Dir holds socket, configuration and the records of the sessions: private (0700),
	// one for each city.
	Dir string
	// LogDir holds the raw output of each session as <name>.log, for as long as a
	// process listens. Empty keeps none.
	LogDir string
	// LogSize is how many bytes a log grows to before it is rotated; zero means
	// rawlog.DefaultSize.
	LogSize int64
	// WorkDir is where agents without one run. Empty means the process's own.
	WorkDir string
	// Env is the base environment of agents and set-up commands, "K=V".
	Env []string
	// Environ is the environment of a person's tmux client, and says where tmux is: gc's
	// own. Nil means Env.
	Environ []string
	// Socket is the name of the server's socket in Dir; empty means "s". An absolute path is
	// taken as it is.
	Socket string
	// Binary is the program: a name that is looked up in PATH of Environ, or a path. Empty
	// means "tmux".
	Binary string
	// Profiles is what is known of agent CLIs; nil means the built-in set.
	Profiles *agentcli.Set
	// SetupTimeout bounds each pre_start and set-up command; zero means launch's.
	SetupTimeout time.Duration
	// StopGrace is how long agents get to end by themselves; zero means 5 s.
	StopGrace time.Duration
	// HumanQuiet is how long prompts wait after the last key of a person who is
	// attached; zero means screen.DefaultHumanQuiet.
	HumanQuiet time.Duration
	// Logger gets warnings that fail nothing; nil drops them.
	Logger *slog.Logger
}

// defaultGrace is how long agents get to end by themselves.
const defaultGrace = 5 * time.Second

// Provider runs agents in the sessions of one city's tmux server. It is safe for
// concurrent use; several may be open over one folder, in one process or many.
type Provider struct {
	cfg    Config
	server *server.Server
	panes  *paneCache
	// records are those that were read.
	records recordCache
	memory  screen.Memory
	// restorer says which sessions without a record may run.
	restorer restorer
	searcher envscan.Searcher

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

// Open opens the sessions below cfg.Dir. It starts no server.
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
	server, err := server.Open(server.Config{
		Dir: cfg.Dir, Socket: cfg.Socket, Binary: cfg.Binary, Env: cfg.Env, Environ: cfg.Environ, Logger: cfg.Logger,
	})
	p := &Provider{cfg: cfg, server: server}
	if err == nil {
		err = statedir.MakePrivate(p.sessions())
	}
	if err != nil {
		return nil, err
	}
	p.panes = newPaneCache(p)
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // the provider's life: Close ends it
	p.end = end
	p.panes.run(ctx)
	return p, nil
}

// Close ends what this process does for the sessions. They go on.
func (p *Provider) Close() error {
	p.end()
	ctx, cancel := bounded()
	defer cancel()
	err := p.server.Client().Close(ctx)
	p.panes.close()
	return err
}

// Capabilities says that everything is known.
func (p *Provider) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}
}

// SupportsTransport keeps the contract of runtime.TransportCapabilityProvider: a
// terminal is the only transport.
func (p *Provider) SupportsTransport(transport string) bool { return transport == "" }

// opTimeout bounds the operations of the contract that have no context.
const opTimeout = 30 * time.Second

// bounded returns the context of an operation whose signature has none.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), opTimeout) //nolint:forbidigo // the contract's method has no ctx
}

// fold names operation and session and puts the contract's sentinels in the place of
// those of the packages below.
func fold(op, name string, err error) error {
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
		{statedir.ErrLocked, runtime.ErrSessionExists},
		{errOrphans, runtime.ErrSessionExists},
		{screen.ErrExited, runtime.ErrSessionNotFound},
		{errFenced, runtime.ErrSessionNotFound},
	} {
		if errors.Is(err, pair.from) {
			return &translated{sentinel: pair.to, err: err}
		}
	}
	for _, lost := range []error{control.ErrServerLost, control.ErrNoServer, control.ErrInterrupted, control.ErrClosed} {
		if errors.Is(err, lost) {
			return errors.Join(runtime.ErrRuntimeUnavailable, err)
		}
	}
	return err
}

// translated is an error that is the contract's sentinel to [errors.Is].
type translated struct{ sentinel, err error }

func (t *translated) Error() string {
	switch {
	case errors.Is(t.err, statedir.ErrLocked):
		return t.sentinel.Error() + ": its agent runs or is being started; stop it first"
	case errors.Is(t.sentinel, runtime.ErrSessionExists):
		return t.err.Error() // which says what runs
	}
	return t.sentinel.Error()
}
func (t *translated) Unwrap() []error { return []error{t.sentinel, t.err} }

func (p *Provider) workDir() (string, error) {
	if p.cfg.WorkDir != "" {
		return p.cfg.WorkDir, nil
	}
	return os.Getwd()
}

// sessions returns the folder of the sessions' folders.
func (p *Provider) sessions() string { return filepath.Join(p.cfg.Dir, "sessions") }

// dir returns the session's own folder.
func (p *Provider) dir(name string) statedir.Folder { return statedir.For(p.sessions(), name) }
