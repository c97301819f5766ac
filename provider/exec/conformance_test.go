package exec_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/fakeagent/build"
)

// TestConformance runs the whole contract through the protocol: each call of the driver starts the test
// binary, which forwards it to the fake.
func TestConformance(t *testing.T) {
	var mu sync.Mutex
	var ends []func()
	h := fake.Harness(func(f *fake.Provider) runtime.Provider {
		dir := must(os.MkdirTemp("", "gcx")) //nolint:usetesting // short: it holds a socket
		served := serve(dir, f)
		mu.Lock()
		ends = append(ends, served.close, func() { os.RemoveAll(dir) }) //nolint:errcheck // a temporary folder
		mu.Unlock()
		return must(exec.Open(exec.Config{
			Script: link(dir, asFake), Dir: dir, NotesDir: filepath.Join(dir, "notes"),
			Env: baseEnv("HOME="+dir, envSocket+"="+filepath.Join(dir, "socket")),
		}))
	})
	results := runtimetest.Run(t, h)
	for _, end := range ends {
		end()
	}
	report(t, results)
}

// TestConformanceSubprocess runs the cases that need real processes, over provider/subprocess, which is opened
// again for each call.
func TestConformanceSubprocess(t *testing.T) {
	open := func(_ runtimetest.T, dir string) runtime.Provider { return must(exec.Open(subprocessScript(dir))) }
	h := runtimetest.Harness{
		New: open, Reopen: open, Elsewhere: elsewhere.Start,
		Agent: runtimetest.Program{
			Path: build.Build(t), Flags: []string{"--plain", "--framed"},
			Edit: func(cfg *runtime.Config, _ runtimetest.Behaviour) {
				cfg.ReadyPromptPrefix = "fakeagent ready"
				cfg.Env = map[string]string{"GC_STDIN": "framed"}
			},
		}.Agent,
	}
	real := regexp.MustCompile(`^(start|stop|interrupt|running|process|restart)\.`)
	for _, c := range runtimetest.Cases() {
		if !real.MatchString(c.ID) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if r := c.Check(t.Context(), h); r.Status != runtimetest.Passed {
				t.Errorf("%s %s: %v", r.ID, r.Status, r.Detail)
			}
		})
	}
}

// beyond are the needs of extensions that the protocol does not have.
var beyond = []runtimetest.Need{
	runtimetest.NeedAttach, runtimetest.NeedBoundary, runtimetest.NeedClearInput, runtimetest.NeedDialog, runtimetest.NeedHints, runtimetest.NeedIdle, runtimetest.NeedImmediate,
	runtimetest.NeedInteraction, runtimetest.NeedRecover, runtimetest.NeedRelaunch, runtimetest.NeedReset, runtimetest.NeedScan,
	runtimetest.NeedSense, runtimetest.NeedServer, runtimetest.NeedTyping, runtimetest.NeedWatching, runtimetest.NeedWithdraw,
}

// report fails for a case that was skipped although the protocol has what it needs.
func report(t *testing.T, results []runtimetest.Result) {
	t.Helper()
	count := map[runtimetest.Status]int{}
	for _, r := range results {
		count[r.Status]++
		need := runtimetest.Need(strings.TrimPrefix(strings.Join(r.Detail, " "), "needs "))
		if r.Status == runtimetest.NotApplicable && !slices.Contains(beyond, need) {
			t.Errorf("%s was not tried: %q", r.ID, r.Detail)
		}
	}
	t.Logf("%v of %d cases", count, len(results))
}
