package e2e

import (
	"fmt"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestFakeWorkersInACity: an agent that uses the worker API itself gets its prompts by the stream, each once although
// the controller is killed. Its questions and tool requests reach the city, and its exit is known. Its ledger
// has what it accepted.
func TestFakeWorkersInACity(t *testing.T) {
	t.Parallel()
	const prompts = 10
	names := []string{"piped", "seated"}
	c := newCityOf(t, "[guard]\nsets = [\"dangerous-command\"]\n", []member{
		{name: names[0], flags: "--worker", ready: "fakeagent ready", toml: "session = \"subprocess\""},
		{name: names[1], flags: "--worker", ready: "fakeagent ready"},
	})
	c.start()
	c.await("known by its workers", idleByWorker)
	sent := make(chan error, len(names)*prompts)
	for _, name := range names {
		go func() {
			for i := range prompts {
				sent <- c.promptAndWait(name, fmt.Sprintf("%s prompt %d.", name, i))
			}
		}()
	}
	for i := range cap(sent) {
		if i == prompts {
			c.kill()
			c.start()
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	if err := c.promptAndWait("piped", "[[tool:Bash|git push --force origin main]]"); err != nil {
		t.Error(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- c.promptAndWait("seated", "[[ask:Which way?|Left|Right]]") }()
	if _, err := c.client.Respond(t.Context(), c.waitQuestion("seated"), client.RespondRequest{Option: "Right"}); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	for _, name := range names {
		took := map[string]int{}
		messages := map[string]int{}
		for _, r := range c.records(t, name) {
			switch {
			case r.Kind == ledger.Prompt && r.Source == "worker":
				took[r.Text]++
			case r.Kind == ledger.Prompt:
				t.Errorf("%s took %q from %q", name, r.Text, r.Source)
			case r.Kind == ledger.Message:
				messages[r.Message]++
			case r.Kind == ledger.Authorized && r.Choice != "denied", r.Kind == ledger.Choice && r.Choice != "Right":
				t.Errorf("%s: %+v", name, r)
			}
		}
		for i := range prompts {
			if n := took[fmt.Sprintf("%s prompt %d.", name, i)]; n != 1 {
				t.Errorf("%s took prompt %d %d times", name, i, n)
			}
		}
		for id, n := range messages {
			if n != 1 {
				t.Errorf("%s had message %s %d times", name, id, n)
			}
		}
		if len(took) != prompts+1 {
			t.Errorf("%s took %v", name, took)
		}
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}
