package cli

import (
	"context"
	"io"
	"time"
)

// Env is everything that a command gets from the process it runs in. All
// fields are required except Width and Daemon.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdin, Stdout and Stderr are the process's streams.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads one environment variable; empty if it is not set.
	Getenv func(key string) string
	// Now is the clock that ages are told by.
	Now func() time.Time
	// IsTerminal reports whether a stream of this Env is a terminal.
	IsTerminal func(stream any) bool
	// Width is the number of columns of the terminal now. Nil or zero is unlimited.
	Width func() int
	// Dir is the current folder.
	Dir string
	// Version is this program's version.
	Version string
	// Executable is the path of this program, which gc start runs again as the
	// controller.
	Executable string
	// Daemon is the assembly. Without it the commands that need it say so.
	Daemon Daemon
}

// Run runs one command line and returns its exit status. It returns soon after
// ctx ends.
func Run(ctx context.Context, env Env) int {
	a := &app{Env: env}
	a.On = env.IsTerminal(env.Stdout) && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb"
	root := newRoot(a)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	return a.fail(ctx, err)
}
