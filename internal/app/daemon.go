package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/installed"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/guard"
	"gascity/internal/proc/programpath"
	"gascity/internal/shim"
	"gascity/provider/all"
)

// Options are what the program hands to its assembly. Environ and Executable are
// required.
type Options struct {
	Environ    []string // the process's environment
	Executable string   // path of this program, which is the shim, too
	Version    string

	Stdin          io.Reader      // nil: the process's
	Stdout, Stderr io.WriteCloser // nil: the process's
	Now            func() time.Time
}

// Daemon implements what the command line asks of the assembly. It is safe for
// concurrent use.
type Daemon struct {
	opts       Options
	env        environment
	watchEvery time.Duration
	finder     *programpath.Finder  // of the programs of agents
	helps      *installed.HelpTexts // of agent CLIs
	// shortLived is set for a city that ends with this process: its sockets need not survive
	// a logout, and leave nothing in the user's state folder.
	shortLived bool
}

var _ cli.Daemon = (*Daemon)(nil)

// New returns the assembly. It touches nothing.
func New(opts Options) *Daemon {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Stdin == nil {
		opts.Stdin = os.Stdin
	}
	if opts.Stdout == nil {
		opts.Stdout = os.Stdout
	}
	if opts.Stderr == nil {
		opts.Stderr = os.Stderr
	}
	d := &Daemon{opts: opts, env: opts.Environ, watchEvery: citydir.OwnershipCheckInterval, helps: &installed.HelpTexts{}}
	d.finder = &programpath.Finder{Shell: d.env.get("SHELL"), Env: d.env.base(agentcli.Builtin())}
	return d
}

// Shim hosts one session; its argument is the session's folder.
func (d *Daemon) Shim(ctx context.Context, args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(d.opts.Stderr, "gc: the shim takes one folder; it is started by gc itself")
		return exitUsage
	}
	if err := shim.Run(ctx, args[0], d.opts.Stdin, d.opts.Stdout); err != nil {
		fmt.Fprintln(d.opts.Stderr, "gc:", err)
		return exitFailed
	}
	return 0
}

// HostACP speaks with one agent between a shim and it, see bridge.Run.
func (d *Daemon) HostACP(ctx context.Context, args []string) int {
	return bridge.Run(ctx, bridge.Options{Args: args, Environ: d.env, Stdout: d.opts.Stdout, Version: d.opts.Version})
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// catalog is what a configuration may name.
func (d *Daemon) catalog() config.Catalog {
	k := config.Catalog{AgentCLIs: agentcli.Builtin().Names(), RuleSets: guard.Shipped()}
	for _, driver := range all.Drivers() {
		k.Runtimes = append(k.Runtimes, config.Runtime{
			Name: driver.Name, Argument: driver.Argument, Route: d.route(driver), Transports: driver.Transports,
			Protocol: driver.Protocol,
		})
	}
	return k
}

// route turns the routing of a driver into that of the configuration.
func (d *Daemon) route(driver all.Driver) func(config.Routing) (string, error) {
	if driver.Route == nil {
		return nil
	}
	return func(r config.Routing) (string, error) {
		return driver.Route(d.routing(r.Settings), r.Session, r.Transport)
	}
}

// remoteMatch is the variable that wins over remote_match.
const remoteMatch = "GC_HYBRID_REMOTE_MATCH"

// routing is what the city's configuration says about it.
func (d *Daemon) routing(s *config.Session) all.Routing {
	r := all.Routing{Default: s.Auto.Default, ACP: s.Auto.ACP, Local: s.Hybrid.Local, Remote: s.Hybrid.Remote, Match: s.RemoteMatch}
	if match, ok := d.env.lookup(remoteMatch); ok {
		r.Match = match
	}
	return r
}

// shimCommand is the command that runs a shim.
func (d *Daemon) shimCommand() []string { return []string{d.opts.Executable, "shim"} }

// acp is what the city's configuration says of the Agent Client Protocol.
func (d *Daemon) acp(s *config.ACPSession) all.ACP {
	return all.ACP{
		Host: []string{d.opts.Executable, "acp-host"}, HandshakeTimeout: s.HandshakeTimeout,
		BusyTimeout: s.NudgeBusyTimeout, Lines: s.OutputBufferLines,
	}
}

// environment is a process environment, "K=V".
type environment []string

func (e environment) lookup(name string) (string, bool) {
	for _, entry := range slices.Backward(e) { // the last one of a name wins, as in os/exec
		if value, ok := cutName(entry, name); ok {
			return value, true
		}
	}
	return "", false
}

func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

func cutName(entry, name string) (string, bool) {
	if len(entry) > len(name) && entry[:len(name)] == name && entry[len(name)] == '=' {
		return entry[len(name)+1:], true
	}
	return "", false
}
