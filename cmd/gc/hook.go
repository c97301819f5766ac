package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"gascity/internal/hookrunner"
)

// hook runs a hook of an agent CLI if the arguments call for one. This happens before all other
// work, because the agent waits for the hook before each tool call.
func hook(args []string) (status int, called bool) {
	rest, called := hookrunner.Called(args)
	if !called {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return hookrunner.Run(ctx, hookrunner.Call{Args: rest, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Later: hookLater}), true
}

// hookLater starts this program as a hook again, in a background process with the given input.
// The process exits by the deadline of its event.
func hookLater(args []string, input []byte) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	stdin, err := os.CreateTemp("", "gc-hook-")
	if err != nil {
		return err
	}
	defer stdin.Close()
	if err := os.Remove(stdin.Name()); err != nil { // the file exists until the last process closes it
		return err
	}
	if _, err := stdin.Write(input); err != nil {
		return err
	}
	if _, err := stdin.Seek(0, io.SeekStart); err != nil {
		return err
	}
	cmd := exec.Command(program, append([]string{"hook", "run"}, args...)...) //nolint:noctx // it outlives this process
	cmd.Stdin = stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so the agent CLI neither waits for it nor stops it with this process
	return cmd.Start()
}
