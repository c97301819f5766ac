package scripts_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/test/fakeagent/build"
)

// TestConformance drives the scripts through the provider that gc uses.
func TestConformance(t *testing.T) {
	for name, tool := range map[string]string{"gc-session-docker": "tmux", "gc-session-screen": "screen"} {
		t.Run(name, func(t *testing.T) {
			needs(t, tool)
			open := func(t runtimetest.T, dir string) runtime.Provider { return openExec(t, name, dir) }
			runtimetest.Run(t, runtimetest.Harness{
				New: open, Reopen: open,
				Elsewhere: func(ctx context.Context, dir, session string, cfg runtime.Config) error {
					return openExec(t, name, dir).Start(ctx, session, cfg)
				},
				Agent: runtimetest.Program{Path: build.Build(t), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
					cfg.ProviderName = "claude"
					cfg.EmitsPermissionWarning = b.Dialog
				}}.Agent,
				// A delivery is several programs, and dozens of them are one case.
				Patience: 2 * time.Minute,
			})
		})
	}
}

func openExec(t runtimetest.T, script, dir string) runtime.Provider {
	path, err := filepath.Abs(filepath.Join(folder, script))
	if err != nil {
		t.Fatalf("%v", err)
	}
	stub, err := filepath.Abs("testdata/stub")
	if err != nil {
		t.Fatalf("%v", err)
	}
	p, err := exec.Open(exec.Config{
		Script: path, Dir: dir, StateDir: filepath.Join(dir, "state"),
		Env: []string{
			"PATH=" + stub + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "TMPDIR=" + dir, "STUB=" + dir, "GC_DOCKER_IMAGE=agents:1",
		},
	})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return p
}
