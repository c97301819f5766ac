package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gascity/internal/adapter"
)

// hook answers a call of an agent CLI's hook, if it is one: before everything else, for
// the agent waits for it before each of its tools.
func hook(args []string) (status int, called bool) {
	rest, called := adapter.Called(args)
	if !called {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return adapter.Run(ctx, adapter.Call{Args: rest, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}), true
}
