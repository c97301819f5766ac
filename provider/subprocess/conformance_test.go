package subprocess_test

import (
	"os"
	"path/filepath"
	"testing"

	"gascity/provider/subprocess"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
	"gascity/test/shimtest"
)

// The test binary is also the shim, and starts sessions from another process.
func TestMain(m *testing.M) {
	shimtest.Main()
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
	return subprocess.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}, Shim: shimtest.Command(),
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
