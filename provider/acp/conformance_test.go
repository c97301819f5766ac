package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver/shimdriver"
	"gascity/provider/acp"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
	"gascity/test/shimtest"
)

// The test binary is also the shim and the bridge, and starts sessions from another process.
func TestMain(m *testing.M) {
	shimtest.Main()
	switch {
	case len(os.Args) > 1 && os.Args[1] == "acp-host":
		os.Exit(bridge.Run(context.Background(), bridge.Options{Args: os.Args[2:], Environ: os.Environ(), Stdout: os.Stdout, Version: "test"})) //nolint:forbidigo // this is a main
	case len(os.Args) == 2 && os.Args[1] == "peer":
		runPeer()
		os.Exit(0)
	case len(os.Args) == 5 && os.Args[1] == "deliver":
		p, err := acp.Open(config(os.Args[2]))
		if err == nil {
			_, err = p.Deliver(context.Background(), "one", runtime.Delivery{ID: os.Args[3], Content: runtime.TextContent(os.Args[4])}) //nolint:forbidigo // this is a main
		}
		fmt.Fprintln(os.Stderr, "the deliverer ended:", err)
		os.Exit(1)
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
	return acp.Config{
		Options: shimdriver.Options{
			Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
			Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
			Shim: shimtest.Command(),
		},
		Host: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "acp-host"}, HandshakeTimeout: 20 * time.Second, BusyTimeout: 5 * time.Second,
	}
}

func open(t runtimetest.T, dir string) runtime.Provider {
	p, err := acp.Open(config(dir))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return p
}

// shared are the prefixes of cases that the packages below this driver implement for all drivers of child
// processes. test/e2e/acp runs these, and all others again.
var shared = []string{
	"activity.", "copy.", "keys.", "list.", "live.", "meta.", "peek.", "process.", "recover.", "restart.", "running.", "scan.", "stop.daemon", "stop.setsid", "stop.start", "stop.concurrent",
	"start.ctx", "start.duplicate", "start.overlay", "start.pre-start", "start.replaces", "start.setup", "start.work-dir", "watch.slow", "withdraw.stale",
}

func TestConformance(t *testing.T) {
	skip := map[string]string{}
	for _, c := range runtimetest.Cases() {
		for _, beginning := range shared {
			if strings.HasPrefix(c.ID, beginning) {
				skip[c.ID] = "test/e2e/acp tries it"
			}
		}
	}
	runtimetest.Run(t, runtimetest.Harness{
		Skip: skip,
		New:  open, Reopen: open, Elsewhere: elsewhere.Start,
		Agent: runtimetest.Program{
			Path: build.Build(t), Flags: []string{"--acp"},
			Edit: func(cfg *runtime.Config, _ runtimetest.Behaviour) { cfg.ReadyPromptPrefix = bridge.ReadyPrefix },
		}.Agent,
	})
}
