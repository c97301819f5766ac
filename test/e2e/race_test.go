package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/provider/pty"
	"gascity/runtime"
)

// TestOneAgentForEachIdentity starts three controllers and many `gc start` at
// once, and then many concurrent restarts, kills and wakes while old
// agents are stopped or ignore signals. The process table never has two agents of one
// identity.
func TestOneAgentForEachIdentity(t *testing.T) {
	members := []member{{name: "one", flags: "--ignore-sigterm --ignore-sighup"}, {name: "two"}}
	c := newCityOf(t, "max_restarts = 100000\n", members)
	one, two := sample(t, c.ledgerOf("one")), sample(t, c.ledgerOf("two"))
	c.startThrice(t)
	c.await("running", running)
	rounds, requests := setting(t, "GC_E2E_STORMS", 2), 50
	for range rounds {
		c.sendConcurrently(t, requests)
	}
	// After all requests, both run again.
	for _, m := range members {
		if _, err := c.client.Restart(t.Context(), m.name); err != nil {
			t.Errorf("cannot restart %s after the requests: %v", m.name, err)
		}
	}
	c.await("running", running)
	one.end()
	two.end()
	for agent, s := range map[string]*sampler{"one": one, "two": two} {
		starts := ledger.Of(c.records(t, agent), ledger.Start)
		t.Logf("%s: %d starts, %d samples of the process table, at most %d alive at a time", agent, len(starts), s.samples, s.most)
		if s.most != 1 {
			t.Errorf("%d agents of %s lived at a time: %v", s.most, agent, s.worst)
		}
		if len(starts) < rounds {
			t.Errorf("%s was started %d times: want several starts", agent, len(starts))
		}
		if dup := hasOverlap(c.records(t, agent)); dup != "" {
			t.Errorf("%s: %s", agent, dup)
		}
	}
	c.stop()
}

// hasOverlap reports whether a run wrote to the ledger after the next run had started.
func hasOverlap(records []ledger.Record) string {
	latest := 0
	for _, r := range records {
		switch {
		case r.Kind == ledger.Start:
			latest = r.Run
		case r.Run != latest:
			return fmt.Sprintf("run %d wrote %s after run %d had begun", r.Run, r.Kind, latest)
		}
	}
	return ""
}

// startThrice starts three controllers and ten times `gc start` at once: one
// controller stays.
func (c *city) startThrice(t *testing.T) {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root, "LANG=C.UTF-8"}
	ends := map[int]chan error{}
	cmds := map[int]*exec.Cmd{}
	for range 3 {
		cmd := exec.Command(c.gc, "controller", "run", "--city", c.root)
		cmd.Env = env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end := make(chan error, 1)
		ends[cmd.Process.Pid], cmds[cmd.Process.Pid] = end, cmd
		go func() { end <- cmd.Wait() }()
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			cmd := exec.Command(c.gc, "start", "--no-wait", "--city", c.root)
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("gc start beside others: %v\n%s", err, out)
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	status, err := c.client.Status(ctx)
	if err != nil {
		t.Fatalf("no controller answers: %v", err)
	}
	left := 0
	for pid, end := range ends {
		if pid == status.Controller.PID {
			c.cmd, c.ended = cmds[pid], end
			continue
		}
		select {
		case err := <-end:
			left++
			if err == nil {
				t.Errorf("the controller %d that came too late ended without an error", pid)
			}
		case <-ctx.Done():
			t.Errorf("the controllers %d and %d run at once", pid, status.Controller.PID)
		}
	}
	if c.cmd == nil { // one that `gc start` started: it is no child of ours
		t.Logf("of three controllers %d left, the one of gc start stays", left)
		if err := syscall.Kill(status.Controller.PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for syscall.Kill(status.Controller.PID, 0) == nil && ctx.Err() == nil {
			pause(10 * time.Millisecond)
		}
		c.start()
	}
}

// sendConcurrently sends all requests at once, and stops processes of the agents.
func (c *city) sendConcurrently(t *testing.T, orders int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var group sync.WaitGroup
	for i := range orders {
		group.Go(func() {
			agent := []string{"one", "two"}[i%2]
			pause(time.Duration(rand.IntN(1500)) * time.Millisecond)
			switch rand.IntN(6) {
			case 0:
				_, _ = c.client.Kill(ctx, agent, client.LifecycleRequest{}) // each of these may conflict with another request
			case 1:
				for _, pid := range processes(c.ledgerOf(agent)) {
					_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
				}
			case 2:
				for _, pid := range processes(c.ledgerOf(agent)) {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
			case 3:
				_, _ = c.client.Reset(ctx, agent, client.LifecycleRequest{})
				_, _ = c.client.Wake(ctx, agent, client.LifecycleRequest{})
			default:
				cmd := exec.CommandContext(ctx, c.gc, "restart", agent, "--city", c.root, "--timeout", "20s")
				_ = cmd.Run() // other requests may prevent it
			}
		})
	}
	group.Wait()
}

// TestOneStartOfManyInThreeProcesses starts one name with 51 calls in three processes at once,
// without a controller. Exactly one agent runs, also if the previous one was stopped by SIGSTOP and did not exit.
func TestOneStartOfManyInThreeProcesses(t *testing.T) {
	gc, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "gcr-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	if err := os.Symlink(gc, filepath.Join(dir, "fakeagent")); err != nil {
		t.Fatal(err)
	}
	provider := openAt(t, dir, gc)
	book := filepath.Join(dir, "ledger")
	counter := sample(t, book)
	var starters []*starter
	for range 3 {
		starters = append(starters, newStarter(t, dir, gc))
	}
	rounds := setting(t, "GC_E2E_STARTS", 20)
	for round := range rounds {
		told := make([]string, len(starters))
		var group sync.WaitGroup
		for i, s := range starters {
			group.Go(func() { told[i] = s.start(t) })
		}
		group.Wait()
		won, other := 0, 0
		for _, line := range told {
			var ok, exists, failed int
			var why string
			if _, err := fmt.Sscanf(line, "%d %d %d", &ok, &exists, &failed); err != nil {
				t.Fatalf("a starter said %q: %v", line, err)
			}
			if _, why, _ = strings.Cut(line, "|"); failed > 0 {
				t.Errorf("round %d: %d starts failed: %s", round, failed, why)
			}
			won, other = won+ok, other+exists
		}
		if alive := processes(book); won != 1 || len(alive) != 1 {
			t.Errorf("round %d: %d starts succeeded, %d failed because it exists, alive are %v", round, won, other, alive)
		}
		for _, pid := range processes(book) {
			if round%2 == 1 {
				_ = syscall.Kill(pid, syscall.SIGSTOP) // it is stopped below all the same
			}
		}
		if err := provider.Stop("only"); err != nil {
			t.Errorf("round %d: cannot stop it: %v", round, err)
		}
		if alive := processes(book); len(alive) > 0 {
			t.Errorf("round %d: after the stop there are %v", round, alive)
		}
	}
	counter.end()
	for _, s := range starters {
		s.end(t)
	}
	t.Logf("%d rounds of %d starts in %d processes; %d samples of the process table, at most %d alive", rounds, 3*startsEach, len(starters), counter.samples, counter.most)
	if counter.most != 1 {
		t.Errorf("%d agents lived at a time: %v", counter.most, counter.worst)
	}
	if dup := hasOverlap(mustRead(t, book)); dup != "" {
		t.Error(dup)
	}
}

func mustRead(t *testing.T, file string) []ledger.Record {
	t.Helper()
	records, err := ledger.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

const startsEach = 17 // of one process at a time

func openAt(t *testing.T, dir, gc string) *pty.Provider {
	t.Helper()
	p, err := pty.Open(pty.Config{
		Dir: filepath.Join(dir, "s"), WorkDir: dir, Shim: []string{gc, "shim"},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// starter is this test binary as another process.
type starter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newStarter(t *testing.T, dir, gc string) *starter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestStarter$")
	cmd.Env = append(os.Environ(), "GC_E2E_STARTER="+dir, "GC_E2E_GC="+gc)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &starter{cmd, in, bufio.NewReader(out)}
}

func (s *starter) start(t *testing.T) string {
	if _, err := fmt.Fprintln(s.in, "start"); err != nil {
		t.Error(err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Errorf("a starter ended: %v", err)
	}
	return line
}

func (s *starter) end(t *testing.T) {
	if err := s.in.Close(); err != nil {
		t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("a starter ended with %v", err)
	}
}

// TestStarter is not a test. It is the other process of the test above: for each line of input it starts the
// same name many times at once.
func TestStarter(t *testing.T) {
	dir := os.Getenv("GC_E2E_STARTER")
	if dir == "" {
		t.Skip("it is run by TestOneStartOfManyInThreeProcesses")
	}
	p := openAt(t, dir, os.Getenv("GC_E2E_GC"))
	cfg := runtime.Config{
		Command: filepath.Join(dir, "fakeagent") + " --ignore-sigterm --ledger " + filepath.Join(dir, "ledger"), ReadyPromptPrefix: "❯", WorkDir: dir,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var group sync.WaitGroup
		errs := make([]error, startsEach)
		for i := range errs {
			group.Go(func() { errs[i] = p.Start(t.Context(), "only", cfg) })
		}
		group.Wait()
		ok, exists, why := 0, 0, []string{}
		for _, err := range errs {
			switch {
			case err == nil:
				ok++
			case errors.Is(err, runtime.ErrSessionExists), errors.Is(err, runtime.ErrSessionInitializing):
				exists++
			default:
				why = append(why, strings.ReplaceAll(err.Error(), "\n", " "))
			}
		}
		fmt.Printf("%d %d %d |%s\n", ok, exists, len(why), strings.Join(why, "; ")) // the reader is another process
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	os.Exit(0) // the output is the lines only
}
