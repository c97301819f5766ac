package tmux_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity/internal/proc"
	"gascity/provider/tmux"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/test/fakeagent/build"
)

// The test binary also starts sessions from another process.
func TestMain(m *testing.M) {
	if path := os.Getenv("GC_TEST_TMUX"); path != "" { // also for the terminals of people in the tests
		if err := os.Setenv("PATH", filepath.Dir(path)+":"+os.Getenv("PATH")); err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 2 && os.Args[1] == "subreaper" {
		panic(proc.ExecSubreaper(os.Args[2:], os.Environ()))
	}
	elsewhere.Main(func(dir string) runtime.Provider {
		p, err := tmux.Open(config(dir))
		if err != nil {
			panic(err)
		}
		return p
	})
	if len(os.Args) >= 4 && os.Args[1] == "attach" {
		os.Exit(attachMain(os.Args[2], os.Args[3], os.Args[4:]))
	}
	if len(os.Args) == 6 && os.Args[1] == "deliver" {
		os.Exit(delivererMain(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests wait more than they work
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func config(dir string) tmux.Config {
	return tmux.Config{
		Dir: filepath.Join(dir, "tmux"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}, Subreaper: []string{os.Args[0], "subreaper"},
	}
}

// needsTmux skips the test where there is none, unless GC_TEST_REQUIRE names it.
func needsTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
}

// city is a provider whose Close also stops its server.
type city struct {
	*tmux.Provider
	dir string
}

func (c city) Close() error {
	return errors.Join(c.TeardownServer(), c.Provider.Close(), serverless(c.dir))
}

// serverless returns an error if a server of the directory runs.
func serverless(dir string) error {
	err := clientless(dir)
	for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); err = clientless(dir) {
		<-time.After(20 * time.Millisecond) // a client that was starting when its server exited exits, too
	}
	return err
}

func clientless(dir string) error {
	all, err := proc.List()
	if err != nil {
		return err
	}
	for _, info := range all {
		argv, err := proc.Argv(info.PID)
		if err == nil && !info.Ended() && strings.Contains(strings.Join(argv, " "), "-S "+dir+"/") {
			return fmt.Errorf("process %d is left: %q", info.PID, argv)
		}
	}
	return nil
}

func open(t runtimetest.T, dir string) runtime.Provider {
	p, err := tmux.Open(config(dir))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return city{p, dir}
}

// before reports whether tmux is older than that version, such as "3.3".
func before(t *testing.T, version string) bool {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "tmux", "-V").Output()
	if err != nil {
		t.Fatalf("tmux -V: %v", err)
	}
	own := strings.TrimPrefix(strings.TrimSpace(string(said)), "tmux ")
	return own < version // a development version is "next-3.6" or "master"
}

func TestConformance(t *testing.T) {
	needsTmux(t)
	skip := map[string]string{}
	if before(t, "3.3") {
		skip["observe.killed"] = "this tmux does not report the signal that ended a process"
	}
	runtimetest.Run(t, runtimetest.Harness{
		New: open, Reopen: open, Elsewhere: elsewhere.Start, Patience: 30 * time.Second, Skip: skip,
		Agent: runtimetest.Program{Path: build.Build(t), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = "claude"
			cfg.EmitsPermissionWarning = b.Dialog
		}}.Agent,
	})
}
