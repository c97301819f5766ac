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

// hook answers a call of an agent CLI's hook, if it is one: before everything else, for
// the agent waits for it before each of its tools.
func hook(args []string) (status int, called bool) {
	rest, called := hookrunner.Called(args)
	if !called {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return hookrunner.Run(ctx, hookrunner.Call{Args: rest, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Later: hookLater}), true
}

// hookLater calls this program as a hook once more, in a process of its own. It ends by
// the event's own deadline.
func hookLater(args []string, input []byte) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := os.CreateTemp("", "gc-hook-")
	if err != nil {
		return err
	}
	defer told.Close()
	if err := os.Remove(told.Name()); err != nil { // it lives as long as somebody reads it
		return err
	}
	if _, err := told.Write(input); err != nil {
		return err
	}
	if _, err := told.Seek(0, io.SeekStart); err != nil {
		return err
	}
	cmd := exec.Command(program, append([]string{"hook", "run"}, args...)...) //nolint:noctx // it outlives this process
	cmd.Stdin = told
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the agent CLI does not wait for its output, nor end it with us
	return cmd.Start()
}
