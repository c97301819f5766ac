package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"gascity/client"
)

// TestTwoHundredSessions starts, lists, nudges and stops a large city, and
// measures what it costs at rest. The figures are in the log; run with -v.
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
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r, err := c.client.Nudge(ctx, name(i), client.NudgeRequest{Text: "hello"})
			if err != nil || r.State != "submitted" {
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

// measureRest tells what the idle city costs: its controller's processor time
// and memory, and the machine's new processes.
func (c *city) measureRest(t *testing.T) {
	t.Helper()
	if goruntime.GOOS != "linux" {
		return
	}
	const rest = 40 * time.Second // more than a patrol
	pause(2 * time.Second)
	busy, forks, began := cpuTicks(t, c.cmd.Process.Pid), machineForks(t), time.Now()
	pause(rest)
	share := float64(cpuTicks(t, c.cmd.Process.Pid)-busy) / 100 / time.Since(began).Seconds() // 100 ticks a second
	t.Logf("at rest the controller takes %.3f%% of a core and %d MiB; the machine made %.2f processes a second",
		100*share, residentMiB(t, c.cmd.Process.Pid), float64(machineForks(t)-forks)/time.Since(began).Seconds())
	if share > 0.01 {
		t.Errorf("at rest the controller takes %.2f%% of a core, budget 1%%", 100*share)
	}
}

func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	user, err1 := strconv.Atoi(string(fields[11]))
	system, err2 := strconv.Atoi(string(fields[12]))
	if err1 != nil || err2 != nil {
		t.Fatalf("cannot read the processor time of %d", pid)
	}
	return user + system
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
