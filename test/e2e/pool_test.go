package e2e

import (
	"context"
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
	"gascity/internal/fakeagent/ledger"
)

// processes returns the processes of agents with this ledger, from the process table. Zombies do not count.
func processes(ledger string) []int { return processesOf([]string{ledger})[ledger] }

// processesOf returns the same for several ledgers, in one pass over the process table.
func processesOf(ledgers []string) map[string][]int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	pids := map[string][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		argv, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // empty of a zombie
		if err != nil {
			continue
		}
		words := strings.Split(string(argv), "\x00")
		if filepath.Base(words[0]) != "fakeagent" {
			continue
		}
		for _, word := range words {
			if slices.Contains(ledgers, word) {
				pids[word] = append(pids[word], pid)
				break
			}
		}
	}
	return pids
}

// sampler counts living agents every 10 ms until it is ended. A pass over the
// process table takes a while on a busy machine, and what it finds did not all live
// at one moment. So two passes are compared: what both found lived at the moment
// between them, and what neither found did not.
type sampler struct {
	cancel  context.CancelFunc
	group   sync.WaitGroup
	samples int
	most    int   // processes at one moment
	least   int   // ledgers with a process at one moment
	worst   []int // those of the sample with the most
}

func sample(t *testing.T, ledgers ...string) *sampler {
	t.Helper()
	if goruntime.GOOS != "linux" {
		t.Skip("the process table is read from /proc")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &sampler{cancel: cancel, least: 1 << 30}
	s.group.Go(func() {
		ticks := time.NewTicker(10 * time.Millisecond)
		defer ticks.Stop()
		for before := processesOf(ledgers); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			now := processesOf(ledgers)
			s.add(ledgers, before, now)
			before = now
		}
	})
	return s
}

// add adds the result of two passes, the second directly after the first.
func (s *sampler) add(ledgers []string, before, now map[string][]int) {
	var both []int
	alive := 0
	for _, ledger := range ledgers {
		for _, pid := range now[ledger] {
			if slices.Contains(before[ledger], pid) {
				both = append(both, pid)
			}
		}
		if len(before[ledger])+len(now[ledger]) > 0 {
			alive++
		}
	}
	s.samples++
	if len(both) > s.most {
		s.most, s.worst = len(both), both
	}
	s.least = min(s.least, alive)
}

// end stops the counting; then its fields may be read.
func (s *sampler) end() {
	s.cancel()
	s.group.Wait()
}

// TestPromptStartsAPoolMember sends a prompt to a member of a pool of size 0. Only that member is started.
func TestPromptStartsAPoolMember(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", []member{
		{name: "crew", flags: "--osc7501 --ledger-env GC_AGENT", toml: "[agents.pool]\nmin = 0\nmax = 3"},
	})
	c.start()
	c.await("a pool at rest", func(s client.Status) bool {
		return len(s.Agents) == 3 && !slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.State != client.StateStopped })
	})
	r, err := c.client.Nudge(t.Context(), "crew-2", client.NudgeRequest{Text: "are you there?"})
	if err != nil {
		t.Fatalf("a prompt for a member that its pool does not want: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if r, err = c.client.Receipt(ctx, r.ID, client.ReceiptConsumed); err != nil || r.State != client.ReceiptConsumed {
		t.Fatalf("the prompt is %s (%s), %v", r.State, r.Reason, err)
	}
	records, err := ledger.Read(c.ledgerOf("crew"))
	if err != nil {
		t.Fatal(err)
	}
	var starts []string
	took := 0
	for _, rec := range records {
		switch {
		case rec.Kind == ledger.Start:
			starts = append(starts, rec.Env["GC_AGENT"])
		case rec.Kind == ledger.Prompt && rec.Is("are you there?"):
			took++
		}
	}
	if took != 1 || !slices.Equal(starts, []string{"crew-2"}) {
		t.Errorf("the prompt was taken %d times, by %q; want once by crew-2", took, starts)
	}
	c.stop()
}

// TestPoolFollowsItsCheck changes the output of the check of a pool. The number of members follows it, never
// more than max run at any time, the highest idle one is stopped first, and a failed check changes nothing.
func TestPoolFollowsItsCheck(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", []member{
		{name: "crew", flags: "--osc7501", toml: "drain_timeout = \"2s\"\n[agents.pool]\nmin = 0\nmax = 3\ncheck = \"cat want\""},
	})
	want := func(text string) {
		if err := os.WriteFile(filepath.Join(c.root, "want.new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(c.root, "want.new"), filepath.Join(c.root, "want")); err != nil {
			t.Fatal(err)
		}
	}
	members := func(status client.Status) []string {
		var run []string
		for _, a := range status.Agents {
			if a.PID > 0 {
				run = append(run, a.Name)
			}
		}
		slices.Sort(run)
		return run
	}
	run := func(names ...string) {
		t.Helper()
		c.await("a pool of "+strconv.Itoa(len(names)), func(s client.Status) bool { return len(s.Agents) == 3 && slices.Equal(members(s), names) })
	}
	want("0")
	counter := sample(t, c.ledgerOf("crew"))
	c.start()
	run()
	want("1")
	run("crew-1")
	want("7") // more than max
	run("crew-1", "crew-2", "crew-3")
	nudge(t, c, "crew-3", "[[busy:10m]]")
	want("2")
	run("crew-1", "crew-3") // the highest idle one is stopped
	for _, broken := range []string{"", "many", "-"} {
		want(broken)
		pause(1500 * time.Millisecond) // three counts that fail
		if now := members(c.await("answering", func(client.Status) bool { return true })); !slices.Equal(now, []string{"crew-1", "crew-3"}) {
			t.Errorf("a check that prints %q leaves %q", broken, now)
		}
	}
	if err := os.Remove(filepath.Join(c.root, "want")); err != nil {
		t.Fatal(err)
	}
	pause(1500 * time.Millisecond)
	if now := members(c.await("answering", func(client.Status) bool { return true })); !slices.Equal(now, []string{"crew-1", "crew-3"}) {
		t.Errorf("a check that fails leaves %q", now)
	}
	want("3")
	run("crew-1", "crew-2", "crew-3")
	counter.end()
	t.Logf("%d samples of the process table: at most %d members at a time, max 3", counter.samples, counter.most)
	if counter.most > 3 || counter.most == 0 {
		t.Errorf("%d members lived at a time, max 3: %v", counter.most, counter.worst)
	}
	c.stop()
}
