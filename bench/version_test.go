package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkVersion runs `gc version` and an empty Go program in turn. The budget
// is 8 ms between their medians.
func BenchmarkVersion(b *testing.B) {
	dir := b.TempDir()
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	nothing, gc := compile(b, dir, "nothing", empty), compile(b, dir, "gc", "gascity/cmd/gc")
	var mine, base []time.Duration
	for b.Loop() {
		base = append(base, run(b, nothing))
		mine = append(mine, run(b, gc, "version"))
	}
	b.ReportMetric(ms(median(mine)), "gc-ms")
	b.ReportMetric(ms(median(base)), "empty-ms")
	b.ReportMetric(ms(median(mine)-median(base)), "difference-ms")
}

func compile(b *testing.B, dir, name, source string) string {
	b.Helper()
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", path, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("cannot build %s: %v\n%s", source, err, out)
	}
	return path
}

func run(b *testing.B, argv ...string) time.Duration {
	b.Helper()
	began := time.Now()
	if out, err := exec.CommandContext(b.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
