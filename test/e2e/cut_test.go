package e2e

import (
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestStartInterruptedByAKill kills the controller while agents start. An agent
// without its first prompt is started again and prompted once, and there is only one process at any time. A
// prompted agent is not restarted.
func TestStartInterruptedByAKill(t *testing.T) {
	t.Parallel()
	const task = "the first task"
	first := "nudge = \"" + task + "\""
	c := newCityOf(t, "max_restarts = 3\n[session]\nstartup_timeout = \"20s\"\n", []member{
		{name: "slow", flags: "--slow-start 4s", toml: first},
		{name: "quick", toml: first},
		{name: "plain", flags: "--slow-start 2s"}, // only the wait for readiness remains
	})
	c.start()
	c.await("on their way", func(s client.Status) bool {
		return agentIn(s, "quick").State == client.StateRunning && len(ledger.Of(c.records(t, "slow"), ledger.Start)) == 1 &&
			len(ledger.Of(c.records(t, "plain"), ledger.Start)) == 1
	})
	pause(300 * time.Millisecond)
	one := sample(t, c.ledgerOf("slow"))
	c.kill()
	c.start()
	c.await("running", running)
	one.end()
	if one.most > 1 {
		t.Errorf("%d agents ran for one identity", one.most)
	}
	for agent, want := range map[string]struct{ starts, prompts int }{"slow": {2, 1}, "quick": {1, 1}, "plain": {1, 0}} {
		records := c.records(t, agent)
		starts, prompts := ledger.Of(records, ledger.Start), ledger.Of(records, ledger.Prompt)
		if len(starts) != want.starts || len(prompts) != want.prompts {
			t.Errorf("%s was started %d times and prompted %d times, want %+v", agent, len(starts), len(prompts), want)
			continue
		}
		if len(prompts) == 1 && (!strings.Contains(prompts[0].Text, task) || prompts[0].Run != starts[len(starts)-1].Run) {
			t.Errorf("%s was prompted %+v", agent, prompts[0])
		}
	}
	events, err := c.client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Events {
		if e.Kind == "session.start_failed" && (e.Agent != "slow" || e.Data["class"] != "cut off") {
			t.Errorf("reported %s: %+v", e.Agent, e)
		}
	}
	c.stop()
}
