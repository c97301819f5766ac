// Command gc runs and supervises a city of AI coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/fakeagent"
)

var version = "dev" // set by the linker

func main() {
	if fakeagent.Called(os.Args[0]) {
		os.Exit(fakeagent.Main(os.Args[1:]))
	}
	if status, called := runHelper(os.Args[1:]); called { // before anything that takes time
		os.Exit(status)
	}
	executable, _ := os.Executable() // empty on an error: then gc start fails
	os.Exit(run(executable, app.New(app.Options{Environ: os.Environ(), Executable: executable, Version: version})))
}

// run runs the command line with the given Daemon and returns the exit status. Tests pass their own.
func run(executable string, daemon cli.Daemon) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, _ := os.Getwd() // empty on an error: then relative paths fail where they are used
	return cli.Run(ctx, cli.Env{Args: os.Args[1:], Executable: executable, Daemon: daemon, Workers: workers{}, Env: cmdenv.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, IsTerminal: cmdenv.IsTerminal, Width: cmdenv.TerminalWidth, Height: cmdenv.TerminalHeight,
		Dir: dir, Version: version, Signals: cmdenv.TerminalSignals, Suspend: cmdenv.SuspendProcess,
	}})
}
