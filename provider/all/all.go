// Package all holds the table of runtime providers: name, description, constructor. Only
// internal/app, internal/cityconfig, internal/doctor and cmd/gc import it.
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

// Config configures the drivers of one city. All fields are required unless their comment says
// otherwise.
type Config struct {
	Dir      string   // private directory of the city for sockets, with a short path; it may be removed while no session runs
	StateDir string   // private directory of the city for durable state of drivers; a driver creates it when needed. Empty means Dir
	LogDir   string   // directory for the raw output of sessions
	WorkDir  string   // working directory of agents that configure none: the city directory. Relative paths in selections start here
	City     string   // name of the city
	Socket   string   // tmux socket name that the city configures; empty if it configures none
	Env      []string // base environment of agents, "K=V"
	Environ  []string // environment of tools and scripts that a driver runs itself: gc's own; nil means Env
	Shim     []string // command that runs a shim; a state directory is appended to it
	ACP      ACP      // settings of the driver acp
	Remote   Remote   // settings of drivers for other machines
	Routing  Routing  // settings of the providers that only route
	Logger   *slog.Logger

	Subreaper []string // command that runs its arguments as a subreaper; empty if there is none
}

// ACP configures the driver of agents that speak the Agent Client Protocol. A zero field means the
// driver's default.
type ACP struct {
	Host             []string // command that runs an ACP host (package bridge); the first prompt is appended to it
	HandshakeTimeout time.Duration
	BusyTimeout      time.Duration // limit for waiting until the turn before a prompt ends
	Lines            int           // number of output lines kept for peek
}

// Remote configures the drivers for other machines.
type Remote struct {
	ID      string // name of this city on the other machine: letters, digits and dashes
	Program string // path of gc's program for this machine; gc copies it to the other machine
	Worker  string // socket of the worker API; only the controller sets it
	SSH     SSH
	K8s     K8s // GC_K8S_ variables of the environment override these
}

// K8s configures the driver k8s.
type K8s = k8s.Settings

// SSH configures the driver ssh. Zero means the defaults.
type SSH struct {
	Programs map[string]string // paths of gc's programs for other platforms; the key is like "linux/arm64"
	Options  []string          // additional arguments of ssh
	Connect  time.Duration     // limit for making a connection
}

// Where is the location of a driver's agents.
type Where int

// The locations.
const (
	WhereLocal   Where = iota // this machine
	WhereRemote               // another machine
	WhereUnknown              // depends on the argument
)

// Driver is one row of the table.
type Driver struct {
	Name     string
	Argument string // description of the argument after "name:", such as "<script>"; empty if the driver accepts none
	Summary  string
	Needs    []Tool // programs that the driver runs
	Open     func(cfg Config, argument string) (runtime.Provider, error)
	// Check returns an error if Open cannot use the argument, for example a script that does not
	// exist. It creates nothing. It is nil for drivers without such a check.
	Check func(cfg Config, argument string) error

	// Route returns the selection of the provider that a session goes to. It is set only for a
	// provider that only routes; it is nil for all others.
	Route func(r Routing, session, transport string) (string, error)
	// Where is the location of the agents. Paths and programs of agents refer to that machine.
	Where Where
	// Protocol reports whether the agents of the driver speak the Agent Client Protocol.
	Protocol bool
	// Transports lists the transports that Route distinguishes.
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
		{Name: "exec", Argument: "<script>", Summary: "a session script of yours, for any other backend", Open: openScript, Check: checkScript, Where: WhereUnknown},
		{
			Name: "auto", Summary: "routes by transport: agents that speak the Agent Client Protocol, and the others",
			Open: openAuto, Route: routeAuto, Transports: []string{router.TransportACP},
		},
		{
			Name: "hybrid", Summary: "routes by name: local and remote agents",
			Open: openHybrid, Route: routeHybrid,
		},
	}
}

// openTmux opens the driver of the city's own tmux server.
func openTmux(cfg Config, _ string) (runtime.Provider, error) {
	return tmux.Open(tmux.Config{
		Dir: filepath.Join(cfg.Dir, "tmux"), LogDir: cfg.LogDir, WorkDir: cfg.WorkDir, Socket: cfg.Socket,
		Env: cfg.Env, Environ: cfg.environ(), Subreaper: cfg.Subreaper, Logger: cfg.Logger,
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

// openSSH opens the driver of one host. All sessions of a city on a host share one connection.
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

// Leases returns the store of the leader election lease with the given name, in the cluster of the
// configuration.
func Leases(cfg Config, name string) leaderelection.Store {
	return k8s.Leases(cfg.Remote.K8s.With(k8s.Environ(cfg.environ())), name)
}

// openK8s opens the driver of pods. All sessions of a city share one watch.
func openK8s(cfg Config, _ string) (runtime.Provider, error) {
	return k8s.Open(k8s.Config{
		Settings: cfg.Remote.K8s.With(k8s.Environ(cfg.environ())), ID: cfg.Remote.ID, Place: "pty", Program: cfg.Remote.Program, Programs: cfg.Remote.SSH.Programs,
		Worker: cfg.Remote.Worker, Terminal: cfg.Variable("TERM"), Logger: cfg.Logger,
	})
}

// checkScript returns an error if the session script does not exist or cannot be run.
func checkScript(cfg Config, argument string) error {
	return exec.Check(exec.Config{Script: argument, Dir: cfg.WorkDir, Env: cfg.environ()})
}

// variablePass is the variable that lists to a script the names of the variables that its agents
// may have.
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

// openScript opens the driver of a session script. Each script has directories of its own.
func openScript(cfg Config, argument string) (runtime.Provider, error) {
	sum := sha256.Sum256([]byte(argument))
	own := filepath.Join(cmp.Or(cfg.StateDir, cfg.Dir), "exec", hex.EncodeToString(sum[:4]))
	return exec.Open(exec.Config{
		Script: argument, Dir: cfg.WorkDir, Env: append(slices.Clip(cfg.environ()), variablePass+"="+cfg.passedVariables()), Logger: cfg.Logger,
		StateDir: filepath.Join(own, "state"), NotesDir: filepath.Join(own, "notes"),
	})
}

// local returns the configuration of the named driver, whose sessions run in shims on this machine.
func (cfg Config) local(name string) pty.Config {
	return pty.Config{
		Dir: filepath.Join(cfg.Dir, name), LogDir: cfg.LogDir, WorkDir: cfg.WorkDir,
		Env: cfg.Env, Shim: cfg.Shim, Logger: cfg.Logger,
	}
}

// Open opens the provider of a selection, "name" or "name:argument". For an unknown name it returns
// an error that matches client.ErrNotFound and lists the known names.
func Open(selection string, cfg Config) (runtime.Provider, error) {
	driver, argument, err := Find(selection)
	if err != nil {
		return nil, err
	}
	p, err := driver.Open(cfg, argument)
	if err != nil {
		return nil, err // p may be an interface that holds a nil pointer
	}
	return p, nil
}

// Version returns the version output of the tools that the selected provider needs; see
// [Driver.Probe]. It returns an error if the provider is unknown, as [Open] does, or if something
// that it needs is missing. It starts only the tools.
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

// Check returns an error if Open cannot use the selection. See [Driver.Check].
func Check(selection string, cfg Config) error {
	driver, argument, err := Find(selection)
	if err != nil {
		return err
	}
	return driver.check(cfg, argument)
}

// check returns why the provider cannot be used with this configuration; nil if it can, or if the driver has no check.
func (d Driver) check(cfg Config, argument string) error {
	if d.Check == nil {
		return nil
	}
	return d.Check(cfg, argument)
}

// Find returns the driver of a selection and the argument after the name. For an unknown name it
// returns an error that matches client.ErrNotFound and lists the known names.
func Find(selection string) (driver Driver, argument string, err error) {
	name, argument, _ := strings.Cut(selection, ":")
	drivers := Drivers()
	at := slices.IndexFunc(drivers, func(d Driver) bool { return d.Name == name })
	if at < 0 || drivers[at].Argument == "" && argument != "" {
		known := "the known ones are: " + strings.Join(Names(), ", ")
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

// Names returns the selection of each provider, such as "exec:<script>". The default is first.
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

// Close releases the resources of a provider in this process. Its sessions continue to run.
func Close(p runtime.Provider) error {
	if closer, ok := p.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
