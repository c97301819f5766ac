// Package acp runs every case of the contract on the driver of the Agent Client Protocol. The driver's own
// tests run the cases of its own code.
package acp

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/shim"
	"gascity/provider/acp"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
)

// The test binary is the shim and the host, too, and starts sessions from another process.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "shim":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "acp-host":
		os.Exit(bridge.Run(context.Background(), bridge.Options{Args: os.Args[2:], Environ: os.Environ(), Stdout: os.Stdout, Version: "test"}))
	}
	elsewhere.Main(func(dir string) runtime.Provider {
		p, err := acp.Open(config(dir))
		if err != nil {
			panic(err)
		}
		return p
	})
	os.Exit(m.Run())
}

func config(dir string) acp.Config {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	own := []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self} // the race detector's default is a second
	return acp.Config{
		Options: shimdriver.Options{
			Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
			Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
			Shim: append(own[:3:3], "shim"),
		},
		Host: append(own[:3:3], "acp-host"), HandshakeTimeout: 20 * time.Second, BusyTimeout: 5 * time.Second,
	}
}

func TestConformance(t *testing.T) {
	open := func(t runtimetest.T, dir string) runtime.Provider {
		p, err := acp.Open(config(dir))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return p
	}
	runtimetest.Run(t, runtimetest.Harness{
		New: open, Reopen: open, Elsewhere: elsewhere.Start,
		Agent: runtimetest.Program{
			Path: build.Build(t), Flags: []string{"--acp"},
			Edit: func(cfg *runtime.Config, _ runtimetest.Behaviour) { cfg.ReadyPromptPrefix = bridge.ReadyPrefix },
		}.Agent,
	})
}
