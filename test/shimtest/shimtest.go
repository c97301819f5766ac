// Package shimtest makes a test binary its own shim.
package shimtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"gascity/internal/shim"
)

// Main runs a shim and exits, if [Command] has started this process. TestMain calls it first.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != "shim" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns the command that runs a shim in the test binary.
func Command() []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "shim"} // the race detector's default is a second
}
