package main

import (
	"context"
	"os"

	clichannel "gascity/internal/agentcli/channel"
)

// runHelper runs a program that works for an agent CLI, if gc was called as one: a hook, or the
// agent's native channel.
func runHelper(args []string) (status int, called bool) {
	if status, called = hook(args); !called {
		status, called = channel(args)
	}
	return status, called
}

// channel runs an agent CLI with its native channel, if gc was called for that by itself. It
// handles the signals of its process.
func channel(args []string) (status int, called bool) {
	rest, called := clichannel.Called(args)
	if !called {
		return 0, false
	}
	return clichannel.Run(context.Background(), clichannel.Options{
		Args: rest, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version,
	}), true
}
