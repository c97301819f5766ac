package cli

import (
	"context"
	"slices"

	"gascity/internal/cli/cmdenv"
)

// Env is the environment of a command: streams, arguments and functions with effects. All
// fields are required.
type Env struct {
	cmdenv.Env

	// Args are the arguments without the program's name.
	Args []string
	// Executable is the path of this program, which gc start runs again as the
	// controller.
	Executable string
	// Daemon has the functions with effects.
	Daemon Daemon
	// Workers tests worker programs.
	Workers Workers
}

// Run runs one command line and returns its exit status. When ctx ends, the command
// is interrupted.
func Run(ctx context.Context, env Env) int {
	a := &app{Base: cmdenv.New(env.Env), executable: env.Executable, daemon: env.Daemon, workers: env.Workers}
	root := newRoot(a)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cmdenv.Done
	}
	a.JSON = a.JSON || wantsJSON(env.Args)
	return a.Fail(ctx, err)
}

// failIf returns the [cmdenv.SilentExit] with [cmdenv.Failed] if something has failed, which was printed already; else nil.
func failIf(failed bool) error {
	if failed {
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	return nil
}

// wantsJSON reports whether --json is in the arguments. It also works for a command line that could
// not be parsed.
func wantsJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}
