package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// exitNoController is the exit status of a command that found no controller:
// its request was not received.
const exitNoController = 6

// TestPromptsDuringControllerChanges sends prompts with gc send while controllers exit and others
// take over. No command fails, and each prompt is processed once.
func TestPromptsDuringControllerChanges(t *testing.T) {
	t.Parallel()
	const prompts, handovers = 60, 8
	c := newCityOf(t, "", []member{{name: "a", flags: "--think 1ms"}})
	c.start()
	c.await("running", running)
	failed, none := make(chan string, prompts), 0
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range prompts {
			words, missed := c.submit("a", fmt.Sprintf("prompt %d", i))
			if none += missed; words != "" {
				failed <- words
			}
		}
	}()
	for range handovers {
		pause(300 * time.Millisecond)
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-c.ended; err != nil {
			t.Errorf("a controller ended with %v", err)
		}
		c.start()
	}
	<-sent
	close(failed)
	for words := range failed {
		t.Error(words)
	}
	taken := map[string]int{}
	for _, r := range c.promptsOf(t, "a", prompts) {
		taken[r.Text]++
	}
	for i := range prompts {
		if n := taken[fmt.Sprintf("prompt %d", i)]; n != 1 {
			t.Errorf("prompt %d was worked on %d times", i, n)
		}
	}
	t.Logf("%d prompts over %d handovers; %d times no controller was there at all", prompts, handovers, none)
	c.stop()
}

// promptsOf waits until an agent has begun n prompts, and returns all that it has begun. A prompt that was submitted during a
// turn is in the agent's own queue until the turn ends.
func (c *city) promptsOf(t *testing.T, agent string, n int) []ledger.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if _, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Prompt, n)); err != nil {
		t.Error(err)
	}
	return ledger.Prompts(c.records(t, agent))
}

// submit sends a prompt with the program itself, again as long as no controller has
// received it. It returns what went wrong, and how often none was there.
func (c *city) submit(agent, text string) (fault string, none int) {
	words := []string{"nudge", agent, text, "--key", agent + text, "--wait", "submitted", "--city", c.root}
	for {
		out, err := exec.Command(c.gc, words...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitNoController {
			none++
			continue
		}
		if err != nil {
			return fmt.Sprintf("%s to %s: %v: %s", text, agent, err, out), none
		}
		return "", none
	}
}

// TestAgentsSurviveControllerChanges replaces the controller of a city with six agents under load, one of
// them suspended, by gc controller stop and two gc start at once. No agent exits, the held one stays held, and
// each prompt is processed once.
func TestAgentsSurviveControllerChanges(t *testing.T) {
	t.Parallel()
	const agents, prompts, handovers = 6, 20, 5
	members := []member{{name: "held"}}
	for i := range agents {
		members = append(members, member{name: name(i), flags: fmt.Sprintf("--think %dms", 1+40*i)})
	}
	c := newCityOf(t, "", members)
	c.start()
	c.await("running", running)
	c.run(t, "session", "suspend", "held")
	up := func(s client.Status) bool {
		s.Agents = slices.DeleteFunc(s.Agents, func(a client.Agent) bool { return a.Name == "held" && a.State == client.StateSuspended })
		return len(s.Agents) == agents && running(s)
	}
	first := c.await("running except the one that is held", up)
	before, charge := pids(first), first.Controller.PID
	var sending sync.WaitGroup
	failed := make(chan string, agents*prompts)
	for i := range agents {
		sending.Go(func() {
			for n := range prompts {
				if words, _ := c.submit(name(i), fmt.Sprintf("prompt %d", n)); words != "" {
					failed <- words
				}
			}
		})
	}
	for i := range handovers {
		pause(700 * time.Millisecond)
		c.run(t, "controller", "stop")
		if i == 0 {
			if err := <-c.ended; err != nil {
				t.Errorf("the first controller ended with %v", err)
			}
			c.ended = make(chan error) // the others are children of other processes
		}
		var racing sync.WaitGroup
		for range 2 {
			racing.Go(func() { c.run(t, "start") })
		}
		racing.Wait()
		after := c.await("running except the one that is held", up)
		if diff := cmp.Diff(before, pids(after)); diff != "" {
			t.Fatalf("after hand-over %d (-before +after):\n%s", i+1, diff)
		}
		if after.Controller.PID == charge {
			t.Errorf("hand-over %d left the controller %d in charge", i+1, charge)
		}
		charge = after.Controller.PID
	}
	sending.Wait()
	close(failed)
	for words := range failed {
		t.Error(words)
	}
	for i := range agents {
		taken := map[string]int{}
		for _, r := range c.promptsOf(t, name(i), prompts) {
			taken[r.Text]++
		}
		for n := range prompts {
			if times := taken[fmt.Sprintf("prompt %d", n)]; times != 1 {
				t.Errorf("%s worked on prompt %d %d times", name(i), n, times)
			}
		}
		if starts := len(ledger.Of(c.records(t, name(i)), ledger.Start)); starts != 1 {
			t.Errorf("%s was started %d times", name(i), starts)
		}
	}
	if starts := len(ledger.Of(c.records(t, "held"), ledger.Start)); starts != 1 {
		t.Errorf("the one that is held was started %d times", starts)
	}
	census, err := c.client.StopCity(t.Context())
	if err != nil || !census.Clean {
		t.Fatalf("the end: %+v, %v", census, err)
	}
	c.cmd = nil
}
