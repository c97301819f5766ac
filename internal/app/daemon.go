package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/hookrunner"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/provider/all"
	"gascity/runtime"
)

// Options are the inputs of [New]. Environ and Executable are required.
type Options struct {
	Environ    []string // the process's environment
	Executable string   // path of this program, which is also the shim
	Version    string

	Stdin          io.Reader      // nil: the process's
	Stdout, Stderr io.WriteCloser // nil: the process's
	Now            func() time.Time

	// Open opens the runtime provider that a selection names; nil: [all.Open]. Tests replace what
	// starts processes.
	Open func(selection string, cfg all.Config) (runtime.Provider, error)

	// PushDial and PushTLS make the connections to push services; nil: only public addresses are connected to, with the
	// certificates that this machine trusts. Tests replace them.
	PushDial func(ctx context.Context, network, address string) (net.Conn, error)
	PushTLS  *tls.Config
}

// Daemon implements the interfaces that the command line needs. It is safe for concurrent use.
type Daemon struct {
	*cityconfig.Loader // has the methods about configurations that need nothing else
	opts               Options
	watchEvery         time.Duration
}

var _ cli.Daemon = (*Daemon)(nil)

// New returns a Daemon. It reads and starts nothing.
func New(opts Options) *Daemon {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Stdin = cmp.Or[io.Reader](opts.Stdin, os.Stdin)
	opts.Stdout, opts.Stderr = cmp.Or[io.WriteCloser](opts.Stdout, os.Stdout), cmp.Or[io.WriteCloser](opts.Stderr, os.Stderr)
	loader := cityconfig.NewLoader(opts.Environ, opts.Executable, opts.Now)
	if opts.Open != nil {
		loader.OpenProvider = opts.Open
	}
	return &Daemon{opts: opts, watchEvery: citydir.OwnershipCheckInterval, Loader: loader}
}

// Shim runs the shim of one session and returns its exit status. args is the session's state
// directory.
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

// HostACP runs the bridge between a shim and one ACP agent, see bridge.Run. It returns the exit
// status.
func (d *Daemon) HostACP(ctx context.Context, args []string) int {
	return bridge.Run(ctx, bridge.Options{Args: args, Environ: d.Environ, Stdout: d.opts.Stdout, Version: d.opts.Version})
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// Process returns a function that reports whether the process pid has exited. It implements
// cli.Processes.
func (d *Daemon) Process(pid int) (ended func() bool, err error) {
	info, err := proc.Stat(pid)
	if err != nil {
		return nil, err
	}
	return func() bool {
		alive, err := proc.Alive(info.ID)
		return err == nil && !alive
	}, nil
}

// InstallHooks installs gc's hooks for an agent CLI that a person starts, and returns how to start
// it. It implements cli.Hooks.
func (d *Daemon) InstallHooks(name, dir string) (launch string, err error) {
	return hookrunner.InstallManually(name, d.opts.Executable, dir)
}

// UninstallHooks removes gc's hooks for an agent CLI from a directory. It implements cli.Hooks.
func (d *Daemon) UninstallHooks(name, dir string) error {
	return hookrunner.UninstallManually(name, dir)
}
