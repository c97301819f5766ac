package pty_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gascity/provider/pty"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
	"gascity/test/shimtest"
)

// The test binary is also the shim, and starts sessions from another process.
func TestMain(m *testing.M) {
	shimtest.Main()
	if len(os.Args) >= 4 && os.Args[1] == "attach" {
		os.Exit(attachMain(os.Args[2], os.Args[3], os.Args[4:]))
	}
	if len(os.Args) == 7 && os.Args[1] == "deliver" {
		os.Exit(delivererMain(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]))
	}
	elsewhere.Main(func(dir string) runtime.Provider {
		p, err := pty.Open(config(dir))
		if err != nil {
			panic(err)
		}
		return p
	})
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests wait more than they work
		panic(err)
	}
	os.Exit(m.Run())
}

func config(dir string) pty.Config {
	return pty.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}, Shim: shimtest.Command(),
	}
}

func open(t runtimetest.T, dir string) runtime.Provider {
	p, err := pty.Open(config(dir))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return p
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, runtimetest.Harness{
		New: open, Reopen: open, Elsewhere: elsewhere.Start,
		Agent: runtimetest.Program{Path: build.Build(t), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = "claude"
			cfg.EmitsPermissionWarning = b.Dialog
		}}.Agent,
	})
}
