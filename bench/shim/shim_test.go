// Package shim measures what a session's host process costs: memory with full
// scrollback, starting and stopping, and output through it.
//
//	go test -run '^$' -bench . -benchtime 1x ./bench/shim
package shim

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/internal/shim"
)

const (
	shims    = 50
	sessions = 200
	flood    = 1 << 30 // bytes
)

// open returns a fleet whose shims are the real program, built as for a release.
func open(b *testing.B) *shim.Fleet {
	b.Helper()
	gc := filepath.Join(b.TempDir(), "gc")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", gc, "gascity/cmd/gc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("cannot build gc: %v\n%s", err, out)
	}
	dir, err := os.MkdirTemp("", "gcbench") //nolint:usetesting // short: it holds sockets
	if err != nil {
		b.Fatal(err)
	}
	f, err := shim.OpenFleet(shim.FleetOptions{Dir: dir, Command: []string{gc, "shim"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return f
}

func start(b *testing.B, f *shim.Fleet, name, command string) *shim.Client {
	b.Helper()
	claim, _, err := f.Claim(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	c, err := claim.Start(b.Context(), shim.Spec{
		Name: name, Instance: "token-" + name, Argv: []string{"/bin/sh", "-c", command}, Dir: os.TempDir(),
		Env:      []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", proc.TokenKey + "=token-" + name},
		Terminal: true, Cols: shim.DefaultCols, Rows: shim.DefaultRows, Scrollback: shim.DefaultScrollback,
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func stop(b *testing.B, f *shim.Fleet, name string) {
	b.Helper()
	if _, err := f.Stop(b.Context(), name, nil, time.Second); err != nil {
		b.Fatal(err)
	}
}

// await waits until the terminal shows the text, and returns when it did.
func await(b *testing.B, c *shim.Client, text string) time.Time {
	b.Helper()
	for after := uint64(0); ; {
		frame, err := c.Frame(b.Context(), after)
		if err != nil || frame.Exited {
			b.Fatalf("waiting for %q: exited %v, %v", text, frame.Exited, err)
		}
		if strings.Contains(string(frame.Redraw), text) {
			return time.Now()
		}
		after = frame.Seq
	}
}

// BenchmarkMemory fills the scrollback of 50 shims with 10,000 lines of 200 columns
// and reports the average of each in MB. The budget is 12 MB private.
func BenchmarkMemory(b *testing.B) {
	f := open(b)
	const fill = `awk 'BEGIN { for (i = 0; i < 10100; i++) { s = sprintf("%06d \033[3%dm", i, i % 8);
		for (k = 0; k < 192; k++) s = s sprintf("%c", 33 + (i * 7 + k) % 90); print s "\033[m" }; print "fu" "ll" }'; exec cat`
	for b.Loop() {
		sums := map[string]float64{}
		var clients []*shim.Client
		for i := range shims {
			clients = append(clients, start(b, f, "m"+strconv.Itoa(i), fill))
		}
		var pids []int
		for _, c := range clients {
			await(b, c, "full")
			state, err := c.State(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			pids = append(pids, state.Shim.PID)
		}
		<-time.After(8 * time.Second) // what an idle shim gives back, it has given back
		for _, pid := range pids {
			for key, kib := range rollup(b, pid) {
				sums[key] += kib / 1024 / shims
			}
		}
		b.ReportMetric(sums["Private_Dirty"]+sums["Private_Clean"], "private-MB")
		b.ReportMetric(sums["Pss"], "pss-MB")
		b.ReportMetric(sums["Rss"], "rss-MB")
		b.ReportMetric(sums["Anonymous"], "anonymous-MB")
		for i := range shims {
			stop(b, f, "m"+strconv.Itoa(i))
		}
	}
}

func rollup(b *testing.B, pid int) map[string]float64 {
	b.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	defer file.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 {
			values[strings.TrimSuffix(fields[0], ":")], _ = strconv.ParseFloat(fields[1], 64) // zero is seen
		}
	}
	return values
}

// BenchmarkStart starts and stops one session at a time.
func BenchmarkStart(b *testing.B) {
	f := open(b)
	var starts, stops []time.Duration
	for b.Loop() {
		began := time.Now()
		start(b, f, "one", "exec cat")
		running := time.Now()
		stop(b, f, "one")
		starts, stops = append(starts, running.Sub(began)), append(stops, time.Since(running))
	}
	slices.Sort(starts)
	slices.Sort(stops)
	b.ReportMetric(ms(starts[len(starts)/2]), "start-ms")
	b.ReportMetric(ms(stops[len(stops)/2]), "stop-ms")
}

// BenchmarkFleet starts, lists and stops 200 sessions, eight at a time.
func BenchmarkFleet(b *testing.B) {
	f := open(b)
	each := func(do func(name string)) float64 {
		began := time.Now()
		turns := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for i := range sessions {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				do("s" + strconv.Itoa(i))
			})
		}
		wg.Wait()
		return ms(time.Since(began))
	}
	for b.Loop() {
		b.ReportMetric(each(func(name string) { start(b, f, name, "exec cat") }), "start-200-ms")
		began := time.Now()
		if running, err := f.Running(b.Context()); err != nil || len(running) != sessions {
			b.Fatalf("%d run, %v", len(running), err)
		}
		b.ReportMetric(ms(time.Since(began)), "list-200-ms")
		b.ReportMetric(each(func(name string) { stop(b, f, name) }), "stop-200-ms")
	}
}

// BenchmarkFlood sends a gigabyte through one shim while somebody looks at it.
func BenchmarkFlood(b *testing.B) {
	f := open(b)
	for b.Loop() {
		c := start(b, f, "flood", fmt.Sprintf(`stty -echo; read x; yes 'a line of \some text that an agent may print, eighty columns of it or so, and then' | head -c %d; echo do""ne; exec cat`, flood))
		state, err := c.State(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := c.Keys(b.Context(), []string{"Enter"}); err != nil {
			b.Fatal(err)
		}
		var peak float64
		var slowest time.Duration
		for {
			asked := time.Now()
			text, err := c.Text(b.Context(), 3)
			if err != nil {
				b.Fatal(err)
			}
			slowest = max(slowest, time.Since(asked))
			peak = max(peak, rollup(b, state.Shim.PID)["Rss"]/1024)
			if strings.Contains(text, "done") {
				break
			}
			<-time.After(50 * time.Millisecond)
		}
		b.ReportMetric(float64(flood)/1e6/time.Since(began).Seconds(), "MB/s")
		b.ReportMetric(peak, "peak-rss-MB")
		b.ReportMetric(ms(slowest), "slowest-text-ms")
		stop(b, f, "flood")
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
