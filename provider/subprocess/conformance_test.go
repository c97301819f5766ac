package subprocess_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"gascity/internal/shim"
	"gascity/provider/subprocess"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
)

// The test binary is also the shim, and starts sessions from another process.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
		err := shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	elsewhere.Main(func(dir string) runtime.Provider {
		p, err := subprocess.Open(config(dir))
		if err != nil {
			panic(err)
		}
		return p
	})
	os.Exit(m.Run())
}

func config(dir string) subprocess.Config {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return subprocess.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}, Shim: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "shim"}, // the race detector's default is a second
	}
}

func open(t runtimetest.T, dir string) runtime.Provider {
	p, err := subprocess.Open(config(dir))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return p
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, runtimetest.Harness{
		New: open, Reopen: open, Elsewhere: elsewhere.Start,
		Agent: runtimetest.Program{
			Path: build.Build(t), Flags: []string{"--plain", "--framed"},
			Edit: func(cfg *runtime.Config, _ runtimetest.Behaviour) {
				cfg.ReadyPromptPrefix = "fakeagent ready"
				cfg.Env = map[string]string{"GC_STDIN": "framed"}
			},
		}.Agent,
	})
}
