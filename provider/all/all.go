// Package all is the one table of runtime providers: name, description,
// constructor. Only the assembly imports it.
package all

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/leaderelection"
	"gascity/provider/acp"
	"gascity/provider/exec"
	"gascity/provider/k8s"
	"gascity/provider/pty"
	"gascity/provider/router"
	"gascity/provider/ssh"
	"gascity/provider/subprocess"
	"gascity/provider/tmux"
	"gascity/runtime"
)

// Config is what the drivers of one city are opened with. All fields are
// required but those that say otherwise.
type Config struct {
	Dir      string   // private folder of the city for sockets, short; it may be lost when nothing runs
	StateDir string   // private folder of the city for what a driver has to keep; the driver that uses it makes it
	LogDir   string   // for the raw output of sessions
	WorkDir  string   // of agents that have none: the city directory. Relative paths of selections begin here
	City     string   // the city's name
	Socket   string   // of a multiplexer, as the city names it; empty unless it does
	Env      []string // base environment of agents, "K=V"
	Environ  []string // of the tools and scripts that a driver runs itself: gc's own; nil is Env
	Shim     []string // the command that runs a shim; a folder is appended to it
	ACP      ACP      // of agents that speak the Agent Client Protocol
	Remote   Remote   // of places on other machines
	Routing  Routing  // between backends, of the providers that only route
	Logger   *slog.Logger
}

// ACP is what concerns agents that speak the Agent Client Protocol. Zero means the
// driver's default.
type ACP struct {
	Host             []string // the command that runs a host; the first prompt is appended to it
	HandshakeTimeout time.Duration
	BusyTimeout      time.Duration // for the turn before a prompt
	Lines            int           // of output, kept for peek
}

// Remote is what concerns places on other machines.
type Remote struct {
	ID      string // names this city over there: letters, digits and dashes
	Program string // gc for this machine; it is brought there
	Worker  string // socket of the worker API; only the controller offers it
	SSH     SSH
	K8s     K8s // the GC_K8S_ variables of the environment win
}

// K8s is what concerns pods.
type K8s = k8s.Settings

// SSH is what concerns hosts that are reached by ssh. Zero means the defaults.
type SSH struct {
	Programs map[string]string // gc for other kinds of hosts, by "linux/arm64"
	Options  []string          // further arguments of ssh
	Connect  time.Duration     // bound of making a connection
}

// Where is a machine, seen from this one.
type Where int

// The machines.
const (
	WhereLocal   Where = iota
	WhereRemote        // another one
	WhereUnknown       // the argument decides
)

// Driver is one row of the table.
type Driver struct {
	Name     string
	Argument string // what follows the name and a colon, such as "<script>"; empty if nothing may
	Summary  string
	Needs    []Tool // the programs that it runs
	Open     func(cfg Config, argument string) (runtime.Provider, error)
	// Check looks whether the argument names something that Open could use, and makes nothing. Nil
	// where there is nothing to look for.
	Check func(cfg Config, argument string) error

	// Route, of a provider that only routes, chooses the selection of another one for
	// a session. Nil for all others.
	Route func(r Routing, session, transport string) (string, error)
	// Where says on which machine its agents run: whose paths and programs are theirs.
	Where Where
	// Protocol says that its agents speak the Agent Client Protocol.
	Protocol bool
	// Transports are what Route distinguishes.
	Transports []string
}

// Drivers returns the table, the default first.
func Drivers() []Driver {
	return []Driver{
		{Name: "pty", Summary: "an embedded terminal for each agent; nothing needs to be installed", Open: func(cfg Config, _ string) (runtime.Provider, error) {
			return pty.Open(cfg.local("pty"))
		}},
		{Name: "subprocess", Summary: "plain child processes with pipes, for agents without a terminal", Open: func(cfg Config, _ string) (runtime.Provider, error) {
			return subprocess.Open(cfg.local("subprocess"))
		}},
		{Name: "tmux", Summary: "sessions of a tmux server of the city's own, where a person can look in with tmux", Needs: []Tool{{
			Name: "tmux", Version: []string{"-V"}, Remedy: "install tmux 3.0 or newer, or choose the provider that needs nothing, pty",
		}}, Open: openTmux},
		{Name: "acp", Summary: "agents that speak the Agent Client Protocol, without a terminal", Open: openACP, Protocol: true},
		{Name: "ssh", Argument: "[user@]host[:port]", Summary: "embedded terminals on another host, by your own ssh", Needs: []Tool{{
			Name: "ssh", Version: []string{"-V"}, Remedy: "install an ssh client",
		}}, Open: openSSH, Where: WhereRemote},
		{Name: "k8s", Summary: "embedded terminals in pods of a Kubernetes cluster", Open: openK8s, Where: WhereRemote},
		{Name: "exec", Argument: "<script>", Summary: "a session script of yours, for any other place", Open: openScript, Check: checkScript, Where: WhereUnknown},
		{
			Name: "auto", Summary: "routes by transport: agents that speak the Agent Client Protocol, and the others",
			Open: openAuto, Route: routeAuto, Transports: []string{router.TransportACP},
		},
		{
			Name: "hybrid", Summary: "routes by name: agents here, and those far away",
			Open: openHybrid, Route: routeHybrid,
		},
	}
}

// openTmux opens the driver of the city's own tmux server.
func openTmux(cfg Config, _ string) (runtime.Provider, error) {
	return tmux.Open(tmux.Config{
		Dir: filepath.Join(cfg.Dir, "tmux"), LogDir: cfg.LogDir, WorkDir: cfg.WorkDir, Socket: cfg.Socket,
		Env: cfg.Env, Environ: cfg.environ(), Logger: cfg.Logger,
	})
}

// openACP opens the driver of agents that speak the Agent Client Protocol.
func openACP(cfg Config, _ string) (runtime.Provider, error) {
	options := cfg.local("acp")
	options.Scrollback = cfg.ACP.Lines
	return acp.Open(acp.Config{
		Options: options, Host: cfg.ACP.Host, HandshakeTimeout: cfg.ACP.HandshakeTimeout, BusyTimeout: cfg.ACP.BusyTimeout,
	})
}

// openSSH opens the driver of one host. All of a city share one connection to it.
func openSSH(cfg Config, argument string) (runtime.Provider, error) {
	p, err := ssh.Open(ssh.Config{
		Target: argument, Place: "pty", ID: cfg.Remote.ID, Dir: filepath.Join(cfg.Dir, "ssh"), Program: cfg.Remote.Program, Programs: cfg.Remote.SSH.Programs,
		Options: cfg.Remote.SSH.Options, Environ: cfg.environ(), Worker: cfg.Remote.Worker, Connect: cfg.Remote.SSH.Connect, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return p, nil
}

// Leases keeps the lease of a name in the cluster of the configuration.
func Leases(cfg Config, name string) leaderelection.Store {
	return k8s.Leases(cfg.Remote.K8s.With(k8s.Environ(cfg.environ())), name)
}

// openK8s opens the driver of pods. All of a city share one watch.
func openK8s(cfg Config, _ string) (runtime.Provider, error) {
	return k8s.Open(k8s.Config{
		Settings: cfg.Remote.K8s.With(k8s.Environ(cfg.environ())), ID: cfg.Remote.ID, Place: "pty", Program: cfg.Remote.Program, Programs: cfg.Remote.SSH.Programs,
		Worker: cfg.Remote.Worker, Terminal: cfg.Variable("TERM"), Logger: cfg.Logger,
	})
}

// checkScript searches for a session script.
func checkScript(cfg Config, argument string) error {
	return exec.Check(exec.Config{Script: argument, Dir: cfg.WorkDir, Env: cfg.environ()})
}

// variablePass names to a script what of its environment its agents may have.
const variablePass = "GC_EXEC_PASS"

// passedVariables returns the names of the variables of the agents' base environment.
func (cfg Config) passedVariables() string {
	var names []string
	for _, entry := range cfg.Env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// openScript opens the driver of a session script. Each script has folders of its own.
func openScript(cfg Config, argument string) (runtime.Provider, error) {
	sum := sha256.Sum256([]byte(argument))
	own := filepath.Join(cmp.Or(cfg.StateDir, cfg.Dir), "exec", hex.EncodeToString(sum[:4]))
	return exec.Open(exec.Config{
		Script: argument, Dir: cfg.WorkDir, Env: append(slices.Clip(cfg.environ()), variablePass+"="+cfg.passedVariables()), Logger: cfg.Logger,
		StateDir: filepath.Join(own, "state"), NotesDir: filepath.Join(own, "notes"),
	})
}

// local returns the configuration of a driver whose sessions are shims here.
func (cfg Config) local(name string) pty.Config {
	return pty.Config{
		Dir: filepath.Join(cfg.Dir, name), LogDir: cfg.LogDir, WorkDir: cfg.WorkDir,
		Env: cfg.Env, Shim: cfg.Shim, Logger: cfg.Logger,
	}
}

// Open opens the provider that a selection names: "name" or "name:argument". An
// unknown one is an error matching client.ErrNotFound that lists the known.
func Open(selection string, cfg Config) (runtime.Provider, error) {
	driver, argument, err := Find(selection)
	if err != nil {
		return nil, err
	}
	p, err := driver.Open(cfg, argument)
	if err != nil {
		return nil, err // and no interface that holds a nil
	}
	return p, nil
}

// Version returns what the tools of the provider that a selection names say of
// their version, see [Driver.Probe], or why it cannot work here: it is unknown, as
// for [Open], or what it needs is not there. It starts nothing.
func Version(ctx context.Context, selection string, cfg Config) (string, error) {
	driver, argument, err := Find(selection)
	if err != nil {
		return "", err
	}
	if err := driver.check(cfg, argument); err != nil {
		return "", err
	}
	return driver.Probe(ctx, cfg)
}

// Check looks whether a selection names something that Open could use, see [Driver.Check].
func Check(selection string, cfg Config) error {
	driver, argument, err := Find(selection)
	if err != nil {
		return err
	}
	return driver.check(cfg, argument)
}

func (d Driver) check(cfg Config, argument string) error {
	if d.Check == nil {
		return nil
	}
	return d.Check(cfg, argument)
}

// Find returns the driver that a selection names, and what follows its name. An unknown
// one is an error matching client.ErrNotFound that lists the known.
func Find(selection string) (driver Driver, argument string, err error) {
	name, argument, _ := strings.Cut(selection, ":")
	drivers := Drivers()
	at := slices.IndexFunc(drivers, func(d Driver) bool { return d.Name == name })
	if at < 0 || drivers[at].Argument == "" && argument != "" {
		known := "known are: " + strings.Join(Names(), ", ")
		if hint := config.Suggest(name, slices.Values(Names())); strings.Contains(hint, "did you mean") {
			known = hint + " " + known
		}
		return Driver{}, "", fmt.Errorf("%w: there is no runtime provider %q; %s", client.ErrNotFound, selection, known)
	}
	if drivers[at].Argument != "" && argument == "" {
		return Driver{}, "", fmt.Errorf("%w: the runtime provider %q needs an argument: %s:%s", client.ErrNotFound, name, name, drivers[at].Argument)
	}
	return drivers[at], argument, nil
}

// Names returns how each provider is selected, the default first.
func Names() []string {
	var names []string
	for _, d := range Drivers() {
		name := d.Name
		if d.Argument != "" {
			name += ":" + d.Argument
		}
		names = append(names, name)
	}
	return names
}

// Close closes what a provider holds in this process; its sessions go on.
func Close(p runtime.Provider) error {
	if closer, ok := p.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
