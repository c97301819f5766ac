// Command gc runs and supervises a city of AI coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"gascity/internal/cli"
)

var version = "dev" // set by the linker

func main() { os.Exit(run(nil)) }

// run is main with an assembly: tests bring their own.
func run(daemon cli.Daemon) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, _ := os.Getwd()             // without one, relative paths fail where they are used
	executable, _ := os.Executable() // without one, gc start says so
	return cli.Run(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, IsTerminal: isTerminal, Width: width,
		Dir: dir, Version: version, Executable: executable, Daemon: daemon,
	})
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func width() int { columns, _, _ := term.GetSize(int(os.Stdout.Fd())); return columns } // zero is unlimited
