package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/provider/tmux"
	"gascity/runtime"
)

// sweepSessions is the number of sessions of BenchmarkSweep, unrelated the number of processes that belong to none of them in
// its second run.
const (
	sweepSessions = 200
	unrelated     = 5000
)

// backends open the runtime providers of BenchmarkSweep. They stop all sessions at the end of the benchmark.
var backends = []struct {
	name string
	open func(b *testing.B) runtime.Provider
}{
	{"pty", func(b *testing.B) runtime.Provider { p, _ := openPTY(b); return p }},
	{"tmux", openTmux},
}

func openTmux(b *testing.B) runtime.Provider {
	b.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if strings.Contains(os.Getenv("GC_TEST_REQUIRE"), "tmux") {
			b.Fatal("tmux is required by GC_TEST_REQUIRE and not installed")
		}
		b.Skip("tmux is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "gcb") //nolint:usetesting // a socket path must be short
	if err != nil {
		b.Fatal(err)
	}
	p, err := tmux.Open(tmux.Config{
		Dir: filepath.Join(dir, "t"), WorkDir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
		Subreaper: []string{self, "subreaper"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(p.TeardownServer(), p.Close()); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return p
}

// BenchmarkSweep measures 200 sessions. A sweep calls IsRunning, ProcessAlive and GetMeta twice for each session: in turn, and
// for 16 sessions at once. At the end the sessions are stopped in turn. The second run has 5,000 unrelated processes on the
// machine.
func BenchmarkSweep(b *testing.B) {
	for _, backend := range backends {
		for _, others := range []int{0, unrelated} {
			b.Run(fmt.Sprintf("%s/unrelated=%d", backend.name, others), func(b *testing.B) {
				p := backend.open(b)
				names := startSleepers(b, p)
				startUnrelated(b, others)
				var inTurn, atOnce []time.Duration
				for b.Loop() {
					inTurn = append(inTurn, sweep(b, p, names, 1))
					atOnce = append(atOnce, sweep(b, p, names, 16))
				}
				b.ReportMetric(ms(median(inTurn)), "sweep-ms")
				b.ReportMetric(ms(slices.Min(inTurn)), "sweep-min-ms")
				b.ReportMetric(ms(median(atOnce)), "sweep16-ms")
				b.ReportMetric(ms(slices.Min(atOnce)), "sweep16-min-ms")
				began := time.Now()
				for _, name := range names {
					if err := p.Stop(name); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(ms(time.Since(began)), "stop-200-ms")
			})
		}
	}
}

// startSleepers starts sweepSessions agents that run sleep, and stores two metadata values for each.
func startSleepers(b *testing.B, p runtime.Provider) []string {
	b.Helper()
	names := make([]string, sweepSessions)
	for i := range names {
		names[i] = "s" + strconv.Itoa(i)
	}
	inParallel(names, 8, func(name string) {
		cfg := runtime.Config{Command: "exec sleep 86400", ProcessNames: []string{"sleep"}}
		err := p.Start(b.Context(), name, cfg)
		for _, key := range []string{"one", "two"} {
			err = errors.Join(err, p.SetMeta(name, key, key))
		}
		if err != nil {
			b.Error(err)
		}
	})
	if b.Failed() {
		b.FailNow()
	}
	return names
}

// startUnrelated starts n processes that belong to no session. They are killed at the end of the benchmark.
func startUnrelated(b *testing.B, n int) {
	b.Helper()
	if n == 0 {
		return
	}
	cmd := exec.CommandContext(b.Context(), "/bin/sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 86400 >/dev/null & i=$((i+1)); done; echo; wait", n))
	cmd.Env, cmd.SysProcAttr = []string{}, &syscall.SysProcAttr{Setpgid: true}
	ready, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all of them are in its group
		_ = cmd.Wait()                                      // the signal is its exit status
	})
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
}

// sweep makes the calls of one sweep, for the given number of sessions at once, and returns its duration.
func sweep(b *testing.B, p runtime.Provider, names []string, parallel int) time.Duration {
	b.Helper()
	began := time.Now()
	inParallel(names, parallel, func(name string) {
		if !p.IsRunning(name) || !p.ProcessAlive(name, []string{"sleep"}) {
			b.Errorf("%s does not run", name)
		}
		for _, key := range []string{"one", "two"} {
			if value, err := p.GetMeta(name, key); err != nil || value != key {
				b.Errorf("%s: metadata %q, %v", name, value, err)
			}
		}
	})
	return time.Since(began)
}

// inParallel calls do for each name, for the given number of names at once.
func inParallel(names []string, parallel int, do func(name string)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for name := range next {
				do(name)
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	wg.Wait()
}
