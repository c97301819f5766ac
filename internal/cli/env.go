package cli

import (
	"context"
	"slices"

	"gascity/internal/cli/cmdenv"
)

// Env is everything that a command gets from the process it runs in. All fields
// are required except Daemon and Workers.
type Env struct {
	cmdenv.Env

	// Args are the arguments without the program's name.
	Args []string
	// Executable is the path of this program, which gc start runs again as the
	// controller.
	Executable string
	// Daemon is the assembly. Without it the commands that need it say so.
	Daemon Daemon
	// Workers tries programs that speak for agents. Without it gc worker check says so.
	Workers Workers
}

// Run runs one command line and returns its exit status. It returns soon after
// ctx ends.
func Run(ctx context.Context, env Env) int {
	a := &app{Renderer: cmdenv.Renderer{Base: cmdenv.New(env.Env)}, executable: env.Executable, assembly: env.Daemon, workers: env.Workers}
	root := newRoot(a)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cmdenv.Done
	}
	a.JSON = a.JSON || wantsJSON(env.Args)
	return a.Fail(ctx, err)
}

// wantsJSON reports whether a command line asks for JSON, also one that could not be read.
func wantsJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}
