package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"gascity/internal/agentcli"
	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Config configures the driver. Script is required.
type Config struct {
	// Script is the program as the user wrote it. With a slash it is a path, relative to Dir.
	// Otherwise it is a name that is searched in PATH of Env.
	Script string
	// Dir is the working directory of the script: the city directory. Empty means the working
	// directory of this process.
	Dir string
	// Env is the complete environment of the script, as "K=V".
	Env []string
	// StateDir is the value of GC_EXEC_STATE_DIR, unless Env sets that. Open creates it with access
	// for the user only. Empty means that the variable is not set.
	StateDir string
	// NotesDir is a private directory for the metadata of sessions, if the script does not have
	// set-meta. It is created when needed. Empty means that the metadata is in memory.
	NotesDir string
	// Limit is the time limit of an ordinary operation, StartLimit that of start, provision,
	// deliver and settle, Handshake that of the operation protocol. Zero means 30 s, 120 s and 10
	// s.
	Limit, StartLimit, Handshake time.Duration
	// Fresh is how long a listing proves that a session is alive. Zero means 1 s. A negative value
	// means that a listing is never used twice.
	Fresh time.Duration
	// Profiles are the profiles of agent CLIs; nil means the built-in ones.
	Profiles *agentcli.Set
	// Logger receives warnings about problems that are not errors; nil discards them.
	Logger *slog.Logger
}

// The defaults of [Config].
const (
	defaultLimit     = 30 * time.Second
	defaultStart     = 120 * time.Second
	defaultHandshake = 10 * time.Second
	defaultFresh     = time.Second
)

// Provider runs agents in the sessions of one script. It is safe for concurrent use.
type Provider struct {
	cfg          Config
	path         string
	caps         script.Handshake
	facts        runtime.ProviderCapabilities
	quick        *semaphore.Weighted // for short operations
	long         *semaphore.Weighted // for operations that may take as long as the agent does
	starts       locks               // allows one start or stop at a time for each session
	inputs       locks               // allows one prompt at a time for each session
	screenLocks  locks               // allows one reading of a screen at a time for each session
	listings     *listingCache
	known        bySession[struct{}] // the sessions that are known to exist
	tokens       bySession[string]   // instance tokens of existing sessions
	notes        *metaFiles
	tmuxSessions bySession[tmuxCheck] // whether gc controls the session with tmux
	clock        clock
	screens      bySession[screenSum] // the last screen of each session
	screenSeed   maphash.Seed
	answers      bySession[screen.Life] // answered questions of the sessions' instances
	memory       screen.Memory
	programs     bySession[runtime.Config] // which agent CLI each session runs

	life    context.Context //nolint:containedctx // ends with Close; the watches end with it
	end     context.CancelFunc
	closing sync.Mutex // no watch begins after Close
	watches sync.WaitGroup
}

var (
	_ runtime.Provider                    = (*Provider)(nil)
	_ runtime.Observer                    = (*Provider)(nil)
	_ runtime.Watcher                     = (*Provider)(nil)
	_ runtime.Deliverer                   = (*Provider)(nil)
	_ runtime.Settler                     = (*Provider)(nil)
	_ runtime.Fencer                      = (*Provider)(nil)
	_ runtime.ExecProvider                = (*Provider)(nil)
	_ runtime.Sensor                      = (*Provider)(nil)
	_ runtime.InteractionProvider         = (*Provider)(nil)
	_ runtime.DialogProvider              = (*Provider)(nil)
	_ runtime.Attacher                    = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider = (*Provider)(nil)
)

// The maximum numbers of concurrent processes.
const (
	quickAtOnce = 16
	longAtOnce  = 64
)

// Open finds the script and calls its operation protocol for the handshake. It returns an error if
// the script does not exist, cannot be executed, or does not answer the handshake in time. If the
// handshake fails in another way, the script has version 0 and no capability.
func Open(cfg Config) (*Provider, error) {
	path, err := locate(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Limit = cmp.Or(cfg.Limit, defaultLimit)
	cfg.StartLimit = cmp.Or(cfg.StartLimit, defaultStart)
	cfg.Handshake = cmp.Or(cfg.Handshake, defaultHandshake)
	cfg.Fresh = cmp.Or(cfg.Fresh, defaultFresh)
	if cfg.Profiles == nil {
		cfg.Profiles = agentcli.Builtin()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Env, err = withStateDir(cfg); err != nil {
		return nil, fmt.Errorf("cannot create the state directory of the session script: %w", err)
	}
	p := &Provider{
		cfg: cfg, path: path, quick: semaphore.NewWeighted(quickAtOnce), long: semaphore.NewWeighted(longAtOnce),
		notes: &metaFiles{Dir: cfg.NotesDir}, screenSeed: maphash.MakeSeed(),
	}
	p.life, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // Close cancels it
	p.listings = &listingCache{p: p}
	if err := p.handshake(); err != nil {
		return nil, err
	}
	return p, nil
}

const envStateDir = "GC_EXEC_STATE_DIR"

// withStateDir creates the state directory and returns the script's environment with its path.
func withStateDir(cfg Config) ([]string, error) {
	if cfg.StateDir == "" || proc.Getenv(cfg.Env, envStateDir) != "" {
		return cfg.Env, nil
	}
	dir, err := filepath.Abs(cfg.StateDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return append(slices.Clip(cfg.Env), envStateDir+"="+dir), err
}

// handshake reads the capabilities that the script declares.
func (p *Provider) handshake() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*p.cfg.Handshake) //nolint:forbidigo // a constructor of the table has no ctx
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpProtocol})
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, runtime.ErrRuntimeUnavailable):
		return fmt.Errorf("cannot use the session script %q: its handshake failed: %w", p.cfg.Script, err)
	case err != nil:
		p.cfg.Logger.Warn("the operation protocol of the session script failed, so gc assumes that the script has no capabilities", "script", p.cfg.Script, "error", err)
		return nil
	case r.missing || len(r.out) == 0:
		return nil
	}
	if p.caps, err = script.ParseHandshake(r.out); err != nil {
		p.cfg.Logger.Warn("the operation protocol of the session script printed no valid handshake, so gc assumes that the script has no capabilities", "script", p.cfg.Script, "error", err)
	}
	p.facts = runtime.ProviderCapabilities{
		CanReportAttachment: p.caps.Has(script.CapAttachment),
		CanReportActivity:   p.caps.Has(script.CapActivity),
		CanStream:           p.caps.Has(script.CapWatch),
		CanAttachTTY:        p.caps.Has(script.CapTerminal),
	}
	return nil
}

// Handshake returns the handshake that the script declared.
func (p *Provider) Handshake() script.Handshake { return p.caps }

// Capabilities returns the capabilities that the script declared.
func (p *Provider) Capabilities() runtime.ProviderCapabilities { return p.facts }

// SupportsTransport implements runtime.TransportCapabilityProvider. It accepts only the empty
// transport, because the script chooses how it reaches its agents.
func (p *Provider) SupportsTransport(transport string) bool { return transport == "" }

// bounded returns a context for a method without a ctx. Its limit is longer than the script's
// limit, so that there is time to wait for a slot.
func (p *Provider) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 4*p.cfg.Limit) //nolint:forbidigo // the contract's method has no ctx
}
