package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
)

// TestTwoHundredSessions starts, lists, nudges and stops a large city, and
// measures the cost of the idle city. The figures are in the log; run with -v.
func TestTwoHundredSessions(t *testing.T) {
	agents := 200
	if text := os.Getenv("GC_E2E_FLEET"); text != "" {
		agents, _ = strconv.Atoi(text) // zero makes the test fail
	}
	c := newCity(t, agents)
	began := time.Now()
	c.start()
	c.await("running", running)
	t.Logf("%d sessions started in %v", agents, time.Since(began).Round(time.Millisecond))

	began = time.Now()
	for range 20 {
		if _, err := c.client.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a status of %d sessions takes %v", agents, time.Since(began)/20)

	began = time.Now()
	var wait sync.WaitGroup
	failed := make(chan string, agents)
	slots := make(chan struct{}, 16)
	for i := range agents {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			r, err := c.client.Nudge(ctx, name(i), client.NudgeRequest{Text: "hello", Wait: client.ReceiptSubmitted})
			if err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed {
				failed <- fmt.Sprintf("%s: %+v, %v", name(i), r, err)
			}
		})
	}
	wait.Wait()
	close(failed)
	for text := range failed {
		t.Errorf("a nudge was not submitted: %s", text)
	}
	t.Logf("%d prompts delivered in %v", agents, time.Since(began).Round(time.Millisecond))

	c.measureRest(t)

	began = time.Now()
	census := c.stop()
	if !census.Clean || len(census.Sessions) != agents {
		t.Errorf("the stop of %d sessions found %d and was clean: %v", agents, len(census.Sessions), census.Clean)
	}
	t.Logf("%d sessions stopped in %v", agents, time.Since(began).Round(time.Millisecond))
}

// measureRest measures the cost of the idle city: the processor time of
// its controller and of all shims, the machine's new processes, and writes to
// the store. GC_E2E_REST is the duration in seconds, longer than one
// patrol.
func (c *city) measureRest(t *testing.T) {
	t.Helper()
	if goruntime.GOOS != "linux" {
		return
	}
	rest := time.Duration(setting(t, "GC_E2E_REST", 40)) * time.Second
	c.await("idle", func(s client.Status) bool {
		return !slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.Queued > 0 })
	})
	pause(3 * time.Second) // until the turns of the prompts have ended
	shims, alone := c.shims(t), []int{c.cmd.Process.Pid}
	for try := 1; ; try++ {
		hosts, busy, forks, written, began := timeOf(t, shims), timeOf(t, alone), machineForks(t), c.storeBytes(t), time.Now()
		pause(rest)
		seconds := time.Since(began).Seconds()
		own := (timeOf(t, alone) - busy).Seconds() / seconds
		share := own + (timeOf(t, shims)-hosts).Seconds()/seconds
		made := float64(machineForks(t)-forks) / seconds
		t.Logf("at rest for %.0f s the controller and %d shims take %.3f%% of a core, the controller alone %.3f%% and %d MiB; the machine made %.2f processes a second",
			seconds, len(shims), 100*share, 100*own, residentMiB(t, c.cmd.Process.Pid), made)
		if now := c.storeBytes(t); now != written {
			t.Errorf("at rest the store was written: %s, before %s", now, written)
		}
		if share <= 0.01 && made <= 1 {
			break
		}
		if try == restTries {
			t.Errorf("at rest the city takes %.2f%% of a core, budget 1%%, and the machine made %.2f processes a second, budget 1", 100*share, made)
			break
		}
	}
	c.manyReaders(t)
}

// restTries is how often the cost of a rest is measured. A Go program that rests collects its garbage once more two
// minutes after the last time, and returns memory to the system until then: for 200 shims that is more than the
// budget on a slow machine. Five measurements reach beyond it. Another program may also make processes.
const restTries = 5

// manyReaders reads the status twenty times at once. The city must start no process for
// that.
func (c *city) manyReaders(t *testing.T) {
	t.Helper()
	forks := machineForks(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := c.client.Status(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made := machineForks(t) - forks; made > 2 {
		t.Errorf("twenty readers of the status made %d processes", made)
	}
}

// shims returns the processes that host the city's sessions.
func (c *city) shims(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.ReadFile(filepath.Join(c.root, ".gc", "runtime-dir"))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(argv, []byte("\x00shim\x00")) && bytes.Contains(argv, bytes.TrimSpace(dir)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// storeBytes names the state of the store's files: it changes with every write.
func (c *city) storeBytes(t *testing.T) string {
	t.Helper()
	var out []string
	files, err := filepath.Glob(filepath.Join(c.root, ".gc", "city.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the city has no store: %v", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", filepath.Base(file), info.Size(), info.ModTime().Format(time.RFC3339Nano)))
	}
	return strings.Join(out, ", ")
}

// timeOf returns the processor time that processes have had, exact to the
// nanosecond: the ticks of /proc/PID/stat are samples, and say nothing of hundreds of
// processes that run for a fraction of a tick.
func timeOf(t *testing.T, pids []int) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("cannot read the processor time of %d: %v", pid, err)
		}
		for _, thread := range threads {
			var ran int64
			text, err := os.ReadFile(thread)
			if err != nil {
				continue // it has just ended
			}
			if _, err := fmt.Sscan(string(text), &ran); err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(ran)
		}
	}
	return sum
}

func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(data)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}

// machineForks returns how many processes the machine has made since its boot.
func machineForks(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("processes ")); ok {
			n, err := strconv.Atoi(string(rest))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("/proc/stat counts no processes")
	return 0
}
