package shimdriver

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// backend implements [driver.Backend] for one session.
type backend struct {
	sessions *Sessions
	name     string
	cfg      runtime.Config
	claim    *shim.Claim
	client   *shim.Client
}

var _ driver.Backend = (*backend)(nil)

// Backend implements driver.LocalSession.
func (l Live) Backend(cfg runtime.Config) driver.Backend {
	return &backend{sessions: l.sessions, name: l.Name, cfg: cfg, client: l.Client}
}

// Claim implements driver.Backend. It fails with ErrSessionExists if the session runs already. If the session has no files
// (fresh), an agent may still run without them: Claim searches for processes with the session's variables in their environment.
func (b *backend) Claim(ctx context.Context) error {
	claim, fresh, err := b.sessions.fleet.Claim(ctx, b.name)
	if err == nil && fresh {
		if err = b.checkNoOrphan(); err != nil {
			return errors.Join(err, claim.Release())
		}
	}
	b.claim = claim
	if _, ok := errors.AsType[*shim.UnreachableError](err); ok {
		return driver.Failure(runtime.ErrSessionExists, err)
	}
	return translate(err)
}

// checkNoOrphan returns an error if an agent of the session runs although the session has no files.
func (b *backend) checkNoOrphan() error {
	live, err := b.sessions.scanner.Agents(b.cfg.Env[proc.CityKey], b.name)
	if err != nil || len(live) == 0 {
		return err
	}
	return driver.Failure(runtime.ErrSessionExists, &proc.OrphanError{Session: b.name, PIDs: proc.AgentPIDs(live)})
}

// Create implements driver.Backend.
func (b *backend) Create(ctx context.Context, spec driver.StartSpec) error {
	argv := driver.ShellCommand(spec.Command, b.sessions.opts.Env)
	if b.claim == nil { // a relaunch: the session exists
		return b.succeed(ctx, argv, spec)
	}
	dir, err := b.sessions.WorkDirOf(spec)
	if err != nil {
		return err
	}
	s := shim.Spec{
		Name: spec.Name, Instance: spec.Instance, Argv: argv, Dir: dir, Env: b.environ(spec),
		Terminal: b.sessions.terminal, Cols: shim.DefaultCols, Rows: shim.DefaultRows, Scrollback: cmp.Or(b.sessions.opts.Scrollback, shim.DefaultScrollback),
		LogSize: b.sessions.opts.LogSize, ProcessNames: b.cfg.ProcessNames, Labels: labels(b.cfg),
	}
	if dir := b.sessions.opts.LogDir; dir != "" {
		s.LogPath = filepath.Join(dir, b.name+".log")
	}
	client, err := b.claim.Start(ctx, s)
	b.client = client
	return translate(err)
}

// succeed replaces the session's agent by the agent of another instance.
func (b *backend) succeed(ctx context.Context, argv []string, spec driver.StartSpec) error {
	next := shim.Successor{Instance: spec.Instance, Env: b.environ(spec), ProcessNames: b.cfg.ProcessNames, Labels: labels(b.cfg)}
	if err := b.client.StartSuccessor(ctx, argv, b.sessions.opts.StopGrace, next); err != nil {
		return translate(err)
	}
	observed, err := b.sessions.fleet.Observe(ctx, b.name)
	if err == nil && observed.Client == nil {
		err = shim.ErrNoShim
	}
	b.client = observed.Client
	return translate(err)
}

// environ returns the agent's environment: the base, the session's own variables, and the variables that describe the shim's
// terminal.
func (b *backend) environ(spec driver.StartSpec) []string {
	env := spec.Environ(b.sessions.opts.Env)
	if !b.sessions.terminal {
		return env
	}
	for _, pair := range []string{"TERM=xterm-256color", "COLORTERM=truecolor"} {
		name, _, _ := strings.Cut(pair, "=")
		if _, own := spec.Vars[name]; !own {
			env = append(slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }), pair)
		}
	}
	return env
}

// Terminal implements [driver.Backend]. For a session with pipes, the terminal has output only.
func (b *backend) Terminal() screen.Terminal {
	if !b.sessions.terminal {
		return outputOnly{terminal{b.client}}
	}
	return terminal{b.client}
}

// Life implements driver.Backend.
func (b *backend) Life(ctx context.Context, wait time.Duration) (driver.AgentLife, error) {
	if wait > 0 {
		if err := awaitExit(ctx, b.client, wait); err != nil {
			return driver.AgentLife{}, err
		}
	}
	observed, err := b.sessions.fleet.Observe(ctx, b.name)
	switch {
	case err != nil:
		return driver.AgentLife{}, err
	case observed.Token != b.client.Token():
		return driver.AgentLife{}, runtime.ErrStaleInstance
	case observed.Client != nil && observed.State.Exit == nil:
		return driver.AgentLife{Alive: true}, nil
	case observed.Client != nil:
		text, err := observed.Client.Text(ctx, lastLines)
		return driver.AgentLife{Exit: exitOf(*observed.State.Exit), Output: text}, err
	case observed.ExitRecord != nil:
		return driver.AgentLife{Exit: exitOf(observed.ExitRecord.Exit), Output: tail(observed.ExitRecord.Text, lastLines)}, nil
	default:
		return driver.AgentLife{}, runtime.ErrSessionNotFound
	}
}

// lastLines is the number of lines of an agent's output that are reported with its exit.
const lastLines = 80

// awaitExit waits until the exit of the agent is recorded, its shim has exited, or wait has passed.
func awaitExit(ctx context.Context, client *shim.Client, wait time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := client.Events(waiting, func(e shim.Event) {
		if e.Exit != nil {
			cancel()
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if waiting.Err() != nil || errors.Is(err, shim.ErrNoShim) {
		return nil
	}
	return err
}

// Destroy implements driver.Backend.
func (b *backend) Destroy(ctx context.Context) error {
	if b.claim == nil {
		return nil // a relaunch: the session stays
	}
	if b.client == nil {
		return b.claim.Release()
	}
	token := b.client.Token()
	_, err := b.sessions.fleet.Stop(ctx, b.name, &token, 0)
	return translate(err)
}

func exitOf(e shim.Exit) runtime.Exit { return runtime.Exit{Code: e.Code, Signal: e.Signal, At: e.At} }

// tail returns the last n lines of text; n <= 0 returns all lines.
func tail(text string, n int) string {
	if n <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
