package main

import (
	"context"
	"os"

	clichannel "gascity/internal/agentcli/channel"
)

// runHelper runs a hook or the native channel of an agent CLI if the arguments call for one. called
// reports whether they did; status is the exit status then.
func runHelper(args []string) (status int, called bool) {
	if status, called = hook(args); !called {
		status, called = channel(args)
	}
	return status, called
}

// channel runs an agent CLI with its native channel if the arguments call for it. gc starts itself
// with these arguments. The function handles the signals of the process.
func channel(args []string) (status int, called bool) {
	rest, called := clichannel.Called(args)
	if !called {
		return 0, false
	}
	return clichannel.Run(context.Background(), clichannel.Options{
		Args: rest, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version,
	}), true
}
