package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// failingAgents are agents that never become ready: their commands, and words. The reason must contain one of the
// words. COUNT stands for the shell command that counts the start.
var failingAgents = []struct{ name, command, flags, words string }{
	{name: "at-once", command: "COUNT; echo the licence is gone >&2; exit 1", words: "the licence is gone"},
	{name: "soon", command: "COUNT; sleep 0.2; echo the socket is taken >&2; exit 1", words: "the socket is taken"},
	{name: "missing", command: "COUNT; exec /nowhere/agent", words: "/nowhere/agent"},
	{name: "hangs", flags: "--hang", words: "not done within|interrupted because"},
}

// TestCrashLoopsAreBounded has agents that fail in every way while controllers are killed. No agent is
// started more often than max_restarts allows, the reason is the output of the agent, and a reset starts at
// once.
func TestCrashLoopsAreBounded(t *testing.T) {
	t.Parallel()
	const budget = 3
	members := make([]member, len(failingAgents))
	for i, h := range failingAgents {
		members[i] = member{name: h.name, flags: h.flags}
	}
	c := newCityOf(t, fmt.Sprintf("max_restarts = %d\n[session]\nstartup_timeout = \"1s\"\n", budget), members)
	c.command(func(agent string) string {
		for _, h := range failingAgents {
			if h.name == agent && h.command != "" {
				return strings.Replace(h.command, "COUNT", "echo x >> "+c.ledgerOf(agent), 1)
			}
		}
		return ""
	})
	for n := range setting(t, "GC_E2E_LOOP_KILLS", 5) {
		c.start()
		pause(time.Duration(300+900*n) * time.Millisecond) // at some point of the crash loop
		c.kill()
	}
	c.start()
	quarantined := func(s client.Status) bool {
		return len(s.Agents) > 0 && !slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.State != client.StateQuarantined })
	}
	status := c.await("in quarantine", quarantined)
	for i, h := range failingAgents {
		n := c.tries(t, i)
		t.Logf("%s was started %d times, budget %d", h.name, n, budget)
		if n > budget || n == 0 {
			t.Errorf("%s was started %d times, budget %d", h.name, n, budget)
		}
	}
	for _, a := range status.Agents {
		e, err := c.client.Explain(t.Context(), a.Name)
		words := failingAgents[slices.IndexFunc(failingAgents, func(h struct{ name, command, flags, words string }) bool { return h.name == a.Name })].words
		told := func(words string) bool { return strings.Contains(e.Agent.Reason+e.Reason+e.Output+e.Exit, words) }
		if err != nil || !slices.ContainsFunc(strings.Split(words, "|"), told) {
			t.Errorf("%s is in quarantine for %q, %q, %q; want the words %q (%v)", a.Name, e.Reason, e.Exit, e.Output, words, err)
		}
		if a.NextAt.Before(time.Now()) {
			t.Errorf("%s is in quarantine until %v", a.Name, a.NextAt)
		}
	}
	before := make([]int, len(failingAgents))
	for i := range failingAgents {
		before[i] = c.tries(t, i)
	}
	for i, h := range failingAgents {
		began := time.Now()
		done, err := c.client.Reset(t.Context(), h.name, client.LifecycleRequest{})
		accept(t, done, err)
		for c.tries(t, i) == before[i] && time.Since(began) < 10*time.Second {
			pause(5 * time.Millisecond)
		}
		t.Logf("%s is started %v after its reset", h.name, time.Since(began).Round(time.Millisecond))
		if c.tries(t, i) == before[i] {
			t.Errorf("%s is not started after a reset", h.name)
		}
	}
	c.stop()
}

// tries counts how often a failing agent was really started.
func (c *city) tries(t *testing.T, i int) int {
	t.Helper()
	if failingAgents[i].command == "" {
		return len(ledger.Of(c.records(t, failingAgents[i].name), ledger.Start))
	}
	text, err := os.ReadFile(c.ledgerOf(failingAgents[i].name))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return strings.Count(string(text), "x")
}

// command replaces the commands of agents; an empty one stays.
func (c *city) command(of func(agent string) string) {
	c.t.Helper()
	path := c.root + "/" + client.CityFile
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	lines, agent := strings.Split(string(text), "\n"), ""
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "name = "); ok {
			agent = strings.Trim(rest, `"`)
		}
		if strings.HasPrefix(line, "start_command = ") {
			if other := of(agent); other != "" {
				lines[i] = fmt.Sprintf("start_command = %q", other)
			}
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// TestHangingStartDelaysNoOtherAgent starts many agents. One never becomes ready, and the
// others start without a delay.
func TestHangingStartDelaysNoOtherAgent(t *testing.T) {
	t.Parallel()
	const others = 20
	members := []member{{name: "a-hangs", flags: "--hang"}}
	for i := range others {
		members = append(members, member{name: name(i)})
	}
	c := newCityOf(t, "[session]\nstartup_timeout = \"10m\"\n", members)
	began := time.Now()
	c.start()
	c.await("running except the one that hangs", func(s client.Status) bool {
		return !slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.Name != "a-hangs" && a.State != client.StateRunning })
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	events, err := c.client.PastEvents(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for _, e := range events.Events {
		if e.Kind == "session.started" {
			took = append(took, e.Time.Sub(began))
		}
	}
	slices.Sort(took)
	if len(took) != others {
		t.Fatalf("%d starts were completed, want %d", len(took), others)
	}
	t.Logf("beside a start that hangs, %d others run after: median %v, last %v", others, took[others/2].Round(time.Millisecond), took[others-1].Round(time.Millisecond))
	if took[others-1] > 30*time.Second {
		t.Errorf("the last of %d starts took %v beside one that hangs", others, took[others-1])
	}
	if s, err := c.client.Session(ctx, "a-hangs"); err != nil || s.State == client.StateRunning {
		t.Errorf("the agent that hangs is %s: the test proves nothing (%v)", s.State, err)
	}
	c.stop()
}
