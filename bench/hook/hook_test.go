// Package hook measures what a hook costs an agent: from the start of its process to its
// answer.
package hook

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
)

const input = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`

// BenchmarkHook answers a PreToolUse hook, by a shell as an agent CLI does, against a city
// that allows at once, in turn with a shell that runs /bin/true.
func BenchmarkHook(b *testing.B) {
	dir, err := os.MkdirTemp("", "gc-hook-") //nolint:usetesting // the path of a socket is short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	gc := filepath.Join(dir, "gc")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", gc, "gascity/cmd/gc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	socket := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(b.Context(), "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	city := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"allowed":true}`) // a hook that has gone needs no answer
	})}
	go city.Serve(l) //nolint:errcheck // it ends with the benchmark
	defer city.Close()
	cli, _ := agentcli.LookupHooks("claude")
	if err := os.WriteFile(filepath.Join(dir, agentcli.HookGuardFile), agentcli.HookGuardScript(), 0o600); err != nil {
		b.Fatal(err)
	}
	event, _ := cli.Event("PreToolUse")
	env := []string{"GC_WORKER_SOCKET=" + socket, "GC_WORKER_TOKEN=x", "GC_RUN_ID=x"}
	var hook, nothing []time.Duration
	for b.Loop() {
		nothing = append(nothing, run(b, "/bin/true || exit 2", nil))
		hook = append(hook, run(b, cli.Command(gc, dir, event), env))
	}
	b.ReportMetric(median(hook), "hook-ms")
	b.ReportMetric(median(nothing), "true-ms")
	b.ReportMetric(median(hook)-median(nothing), "difference-ms")
}

func run(b *testing.B, line string, env []string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "/bin/sh", "-c", line)
	cmd.Stdin, cmd.Env = strings.NewReader(input), append([]string{"PATH=/usr/bin:/bin"}, env...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return time.Since(began)
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
