package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// opened returns the conversations that an agent without a terminal has opened.
func (c *city) opened(agent string) (all []ledger.Record) {
	c.t.Helper()
	records, err := ledger.Read(c.ledgerOf(agent))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range ledger.Of(records, ledger.Dialog) {
		if r.Dialog == "conversation" {
			all = append(all, r)
		}
	}
	return all
}

// learned waits until the city knows the conversation of an agent.
func (c *city) learned(agent, id string) {
	c.t.Helper()
	c.await(agent+" is known to be in "+id, func(client.Status) bool { return strings.Contains(c.facts(agent), id) })
}

func (c *city) facts(agent string) string {
	c.t.Helper()
	e, err := c.client.Explain(c.t.Context(), agent)
	if err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprint(e.Facts)
}

const speaks = "--acp --conversations conversations"

// TestCrashKeepsTheACPConversation kills agents without a terminal, their hosts and
// the controller. Each next instance loads the conversation that the agent has reported.
func TestCrashKeepsTheACPConversation(t *testing.T) {
	c := newCityOf(t, "max_restarts = 0\n", []member{{name: "one", flags: speaks, toml: "session = \"acp\"\n", ready: "acp"}})
	c.start()
	defer func() { c.stop() }()
	agent := c.oneOf("one", 0)
	id := c.opened("one")[0].Conversation
	for i, who := range []string{"agent", "host", "controller"} {
		nudge(t, c, "one", fmt.Sprintf("work on %d", i))
		c.learned("one", id)
		starts := c.starts("one")
		switch who {
		case "agent":
			send(t, starts[len(starts)-1].Run, syscall.SIGKILL)
		case "host":
			send(t, agent.PID, syscall.SIGKILL)
		case "controller":
			c.kill()
			send(t, starts[len(starts)-1].Run, syscall.SIGKILL)
			c.start()
		}
		agent = c.oneOf("one", agent.PID)
		opened := c.opened("one")
		if last := opened[len(opened)-1]; last.Conversation != id || last.Turns != i+1 {
			t.Fatalf("after the end of the %s the agent is in %s with %d turns; want %s with %d", who, last.Conversation, last.Turns, id, i+1)
		}
		if facts := c.facts("one"); !strings.Contains(facts, "resumed") {
			t.Errorf("the explanation does not say that it was resumed: %s", facts)
		}
		c.removeFailures("one")
		agent = c.oneOf("one", agent.PID)
	}
}

// TestConversationThatCannotBeLoaded has agents that do not support loading, or have lost the
// conversation. After a bounded number of starts they run in a new one, and the reason is reported.
func TestConversationThatCannotBeLoaded(t *testing.T) {
	c := newCityOf(t, "", []member{
		{name: "cannot", flags: speaks + " --acp-fault no-load", toml: "session = \"acp\"\n", ready: "acp"},
		{name: "lost", flags: speaks, toml: "session = \"acp\"\n", ready: "acp"},
	})
	c.start()
	defer c.stop()
	for agent, want := range map[string]struct {
		words  string
		starts int
	}{"cannot": {"not offered", 2}, "lost": {"not found", 3}} {
		before := c.oneOf(agent, 0)
		id := c.opened(agent)[0].Conversation
		c.learned(agent, id)
		if agent == "lost" {
			if err := os.Remove(filepath.Join(c.root, "conversations", id)); err != nil {
				t.Fatal(err)
			}
		}
		mark := c.lastEvent(t)
		send(t, before.PID, syscall.SIGKILL)
		after := c.oneOf(agent, before.PID)
		if n := c.countEvents(t, mark, agent, "session.starting"); n > want.starts {
			t.Errorf("%s took %d starts, up to instance %d, want %d at most", agent, n, after.Epoch, want.starts)
		}
		opened := c.opened(agent)
		last := opened[len(opened)-1].Conversation
		c.learned(agent, last)
		if facts := c.facts(agent); last == id || !strings.Contains(facts, "in place of "+id) || !strings.Contains(facts, want.words) {
			t.Errorf("the explanation of %s in %s does not say why it is not in %s: %s", agent, last, id, facts)
		}
	}
}
