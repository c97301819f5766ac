package main

import (
	"context"
	"fmt"
	"os"

	clichannel "gascity/internal/agentcli/channel"
	"gascity/internal/proc"
)

// runHelper runs a hook, a subreaper or the native channel of an agent CLI if the arguments call for
// one. called reports whether they did; status is the exit status then.
func runHelper(args []string) (status int, called bool) {
	if status, called = hook(args); called {
		return status, called
	}
	if status, called = subreaper(args); called {
		return status, called
	}
	return channel(args)
}

// subreaper runs a program in the place of this process, as the parent of its orphaned descendants, if the arguments call for
// it: the hidden command "subreaper PROGRAM ARGUMENT...". It returns only if the program cannot be run.
func subreaper(args []string) (status int, called bool) {
	if len(args) < 2 || args[0] != "subreaper" {
		return 0, false
	}
	err := proc.ExecSubreaper(args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "gc: cannot run %s: %v\n", args[1], err)
	return 126, true
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
