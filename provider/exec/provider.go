package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/driver/script"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Config is what the driver needs. Script is required; zero values of the rest work.
type Config struct {
	// Script is the program as the user wrote it: with a slash a path, relative to
	// Dir; otherwise a name to look up in Env's PATH.
	Script string
	// Dir is where the script runs: the city directory. Empty means the process's own.
	Dir string
	// Env is the script's whole environment, "K=V".
	Env []string
	// StateDir becomes GC_EXEC_STATE_DIR unless Env has that already. It is made, for
	// the user alone, when it is missing. Empty: there is none.
	StateDir string
	// NotesDir is a private folder for the metadata of sessions of a script that has
	// no set-meta; made when it is needed. Empty: in memory.
	NotesDir string
	// Limit bounds an ordinary operation, StartLimit start and provision, Handshake
	// the operation protocol. Zero: 30 s, 120 s, 10 s.
	Limit, StartLimit, Handshake time.Duration
	// Fresh is how long a listing may count as proof that a session is alive.
	// Zero: 1 s; negative: a listing is never used twice.
	Fresh time.Duration
	// Profiles is what is known of agent CLIs; nil means the built-in set.
	Profiles *agentcli.Set
	// Logger gets warnings that fail nothing; nil drops them.
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
	quick        slots // operations that ought to be short
	long         slots // those that take as long as an agent does
	starts       locks // one start or stop at a time for each session
	inputs       locks // one prompt at a time for each session
	screenLocks  locks // one look at a screen at a time for each session
	listings     *listingCache
	tokens       tokens
	notes        *metaFiles
	tmuxSessions tmuxSessions
	clock        clock
	screens      screenHistory
	answers      answers
	watches      watches
	memory       screen.Memory

	programs programs
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

// The numbers of processes that run at a time.
const (
	quickAtOnce = 16
	longAtOnce  = 64
)

// Open finds the script and asks it for its handshake, once. A script that is
// missing, cannot be executed, or does not answer the handshake in time is an error;
// one that fails it has version 0 and no capability.
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
		return nil, fmt.Errorf("cannot make the state folder of the session script: %w", err)
	}
	p := &Provider{
		cfg: cfg, path: path, quick: make(slots, quickAtOnce), long: make(slots, longAtOnce),
		notes: &metaFiles{Dir: cfg.NotesDir},
	}
	p.listings = &listingCache{p: p}
	if err := p.handshake(); err != nil {
		return nil, err
	}
	return p, nil
}

const envStateDir = "GC_EXEC_STATE_DIR"

// withStateDir returns the script's environment.
func withStateDir(cfg Config) ([]string, error) {
	if cfg.StateDir == "" || envValue(cfg.Env, envStateDir) != "" {
		return cfg.Env, nil
	}
	dir, err := filepath.Abs(cfg.StateDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return append(slices.Clip(cfg.Env), envStateDir+"="+dir), err
}

// handshake asks the script what it can do.
func (p *Provider) handshake() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*p.cfg.Handshake) //nolint:forbidigo // a constructor of the table has no ctx
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpProtocol})
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, runtime.ErrRuntimeUnavailable):
		return fmt.Errorf("cannot use the session script %q: its handshake: %w", p.cfg.Script, err)
	case err != nil:
		p.cfg.Logger.Warn("the session script fails its handshake, so it has no capabilities", "script", p.cfg.Script, "error", err)
		return nil
	case r.missing || len(r.out) == 0:
		return nil
	}
	if p.caps, err = script.ParseHandshake(r.out); err != nil {
		p.cfg.Logger.Warn("the session script has no valid handshake, so it has no capabilities", "script", p.cfg.Script, "error", err)
		p.caps = script.Handshake{}
	}
	p.facts = runtime.ProviderCapabilities{
		CanReportAttachment: p.caps.Has(script.CapAttachment),
		CanReportActivity:   p.caps.Has(script.CapActivity),
		CanStream:           p.caps.Has(script.CapWatch),
		CanAttachTTY:        p.caps.Has(script.CapTerminal),
	}
	return nil
}

// Handshake returns what the script has declared.
func (p *Provider) Handshake() script.Handshake { return p.caps }

// Capabilities returns what the script has declared.
func (p *Provider) Capabilities() runtime.ProviderCapabilities { return p.facts }

// SupportsTransport keeps the contract of runtime.TransportCapabilityProvider: what a
// script speaks with its agents is its own.
func (p *Provider) SupportsTransport(transport string) bool { return transport == "" }

// bounded returns the context of an operation whose signature has none. It leaves time
// to wait for a slot; the script's own limit is shorter.
func (p *Provider) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 4*p.cfg.Limit) //nolint:forbidigo // the contract's method has no ctx
}
