package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// disruptions is the maximum number of sessions that are down at the same time for a changed configuration.
const disruptions = 3

// TestOrderIsNoChange writes the same configuration in another order, with other
// comments and changed hints, and touches the file. No agent is restarted, and no drift is shown.
func TestOrderIsNoChange(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", nil)
	agent := func(name string, keys ...string) string {
		return fmt.Sprintf("[[agents]]\nname = %q\n%s\n", name, strings.Join(keys, "\n"))
	}
	command := func(name string) string {
		return fmt.Sprintf("start_command = \"exec %s --ledger %s\"", c.agent, c.ledgerOf(name))
	}
	const prefix = `ready_prompt_prefix = "❯"`
	head := "[workspace]\nname = \"town\"\n[daemon]\npatrol_interval = \"500ms\"\nshutdown_timeout = \"1s\"\n"
	tail := "[daemon]\nshutdown_timeout = \"1s\"\npatrol_interval = \"500ms\"\n# the same\n[workspace]\nname = \"town\"\n"
	first := head + agent("one", command("one"), prefix, `env = { A = "1", B = "$A-2", C = "3" }`, `session_live = ["true", "echo x"]`) +
		agent("two", command("two"), prefix, "[agents.env]\nX = \"1\"\nY = \"2\"") + agent("three", command("three"), prefix, `args_append = ["--name", "three"]`)
	second := agent("three", `args_append = [ # one below the other`, `  "--name",`, `  "three",`, "]", prefix, command("three")) +
		agent("two", prefix, command("two"), "[agents.env]\nY = \"2\"\nX = \"1\"") + tail +
		agent("one", `session_live = ["true", "echo x"]`, `env = { C = "3", A = "1", B = "$A-2" }`, `ready_prompt_prefix = "❯ "`, `description = "a hint"`, command("one"))
	c.write(first)
	c.start()
	before := pids(c.await("running", running))
	mark := c.lastEvent(t)
	for _, text := range []string{second, first, second, first + "\n# touched\n", first} {
		c.write(text)
		if _, err := c.client.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		pause(600 * time.Millisecond) // a patrol
		status := c.await("running", running)
		if diff := cmp.Diff(before, pids(status)); diff != "" {
			t.Fatalf("agents were restarted (-before +after):\n%s", diff)
		}
		for _, a := range status.Agents {
			if len(a.Drift) > 0 {
				t.Errorf("%s is said to differ in %q", a.Name, a.Drift)
			}
		}
	}
	events, err := c.client.PastEvents(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Events {
		if strings.HasPrefix(e.Kind, "session.") && slices.Contains([]string{"session.drift", "session.relaunched", "session.live_applied", "session.stopping"}, e.Kind) {
			t.Errorf("a permuted configuration led to %+v", e)
		}
	}
	c.stop()
}

// write replaces city.toml as an editor does.
func (c *city) write(text string) {
	c.t.Helper()
	path := filepath.Join(c.root, client.CityFile)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		c.t.Fatal(err)
	}
}

// drifted is the argument that the changed launch adds: the ledger shows it.
const drifted = "args_append = [\"--name\", \"changed\"]"

// change replaces every mark in city.toml by text and puts it into force.
func (c *city) change(mark, text string) {
	c.t.Helper()
	old, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(strings.ReplaceAll(string(old), mark, text))
	if _, err := c.client.Reload(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// TestDriftWaitsForTheEndOfATurn changes the launch of agents while one is busy, one has an attached
// terminal and one asks. None is stopped before that ends, the status says why, and then each is restarted.
func TestDriftWaitsForTheEndOfATurn(t *testing.T) {
	t.Parallel()
	members := []member{
		{name: "works", flags: "--osc7501", toml: "# launch"},
		{name: "attached", toml: "# launch"},
		{name: "asks", flags: "--osc7501", toml: "# launch"},
		{name: "free", toml: "# launch"},
		{name: "busy", flags: "--osc7501", toml: "# launch"},
		{name: "asking", flags: "--osc7501", toml: "# launch"},
	}
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", members)
	c.start()
	before := pids(c.await("running", running))
	for agent, text := range map[string]string{
		"works": "[[busy:10m]]", "busy": "[[busy:4s]]", "asks": "[[ask:May I?|Yes|No]]", "asking": "[[ask:May I?|Yes|No]]",
	} {
		nudge(t, c, agent, text)
	}
	person := c.attachReadOnly(t, "attached")
	c.await("in use", func(s client.Status) bool {
		return agentIn(s, "busy").Activity.State == "busy" && agentIn(s, "works").Activity.State == "busy" &&
			agentIn(s, "asks").Pending == 1 && agentIn(s, "asking").Pending == 1 && agentIn(s, "attached").Attached == 1
	})
	c.change("# launch", drifted)
	reasons := map[string]string{
		"works": "deferred while the agent is busy", "attached": "deferred while a terminal is attached", "asks": "deferred while a question is open",
	}
	for agent, words := range reasons {
		c.awaitReason(agent, words)
	}
	table := c.run(t, "status")
	for _, words := range reasons {
		if !strings.Contains(table, words) {
			t.Errorf("gc status does not say %q:\n%s", words, table)
		}
	}
	if plan := c.run(t, "plan"); !strings.Contains(plan, "deferred") {
		t.Errorf("gc plan shows no deferral:\n%s", plan)
	}
	open, err := c.client.Pending(t.Context(), "asking", client.OnlyOpen)
	if err != nil || len(open) != 1 {
		t.Fatalf("asking asks %+v, %v", open, err)
	}
	if _, err := c.client.Respond(t.Context(), open[0].ID, client.RespondRequest{Option: "Yes"}); err != nil {
		t.Error(err)
	}
	// The idle one is restarted. Those in use are not.
	c.renewed(t, "free", before["free"])
	c.renewed(t, "asking", before["asking"])
	c.renewed(t, "busy", before["busy"])
	status := c.await("answering", func(client.Status) bool { return true })
	for agent := range reasons {
		a := agentIn(status, agent)
		if a.PID != before[agent] || len(a.Drift) == 0 {
			t.Errorf("%s was not left alone: process %d, was %d; differs in %q", agent, a.PID, before[agent], a.Drift)
		}
	}
	person.leave()
	left := time.Now()
	c.renewed(t, "attached", before["attached"])
	t.Logf("it was restarted %v after the person had left", time.Since(left).Round(time.Millisecond))
	for _, agent := range []string{"busy", "asking"} {
		records := c.records(t, agent)
		answered, ends := ledger.Of(records, ledger.Answered), ledger.Of(records, ledger.Exit)
		if len(answered) != 1 || len(ends) != 1 || ends[0].Time.Before(answered[0].Time) || len(ledger.Of(records, ledger.Interrupted)) > 0 {
			t.Errorf("the turn of %s was cut off: answers %+v, ends %+v", agent, answered, ends)
		}
	}
	c.stop()
}

func agentIn(s client.Status, name string) client.Agent {
	for _, a := range s.Agents {
		if a.Name == name {
			return a
		}
	}
	return client.Agent{}
}

func (c *city) awaitReason(agent, words string) {
	c.t.Helper()
	c.await(agent+" "+words, func(s client.Status) bool { return strings.Contains(agentIn(s, agent).Reason, words) })
}

// renewed waits until the agent runs with the changed launch, in a process of its
// own.
func (c *city) renewed(t *testing.T, agent string, before int) {
	t.Helper()
	c.await(agent+" restarted", func(s client.Status) bool {
		a := agentIn(s, agent)
		return a.State == client.StateRunning && a.PID != 0 && a.PID != before && len(a.Drift) == 0
	})
	starts := ledger.Of(c.records(t, agent), ledger.Start)
	if len(starts) != 2 || starts[1].Name != "changed" {
		t.Errorf("%s has the starts %+v, want a second one with the changed launch", agent, starts)
	}
}

// run runs a command of gc and returns its output.
func (c *city) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.gc, append(args, "--city", c.root)...)
	cmd.Env = append(os.Environ(), "COLUMNS=500", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("gc %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// attachReadOnly attaches a person's terminal, who only looks.
func (c *city) attachReadOnly(t *testing.T, agent string) *typist {
	t.Helper()
	cmd := exec.Command(c.gc, "attach", agent, "--city", c.root)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the terminal
		buf := make([]byte, 4096)
		for {
			if _, err := tty.Read(buf); err != nil {
				return
			}
		}
	}()
	return &typist{t: t, cmd: cmd, tty: tty}
}

// TestMassDriftIsBounded changes all agents of a large city. At most three are down at once, and those that
// were not restarted yet stay if the change is reverted.
func TestMassDriftIsBounded(t *testing.T) {
	t.Parallel()
	const agents = 20
	members := make([]member, agents)
	ledgers := make([]string, agents)
	for i := range members {
		members[i] = member{name: name(i), flags: "--slow-start 700ms", toml: "# launch"}
	}
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", members)
	for i := range members {
		ledgers[i] = c.ledgerOf(name(i))
	}
	c.start()
	before := pids(c.await("running", running))
	counter := sample(t, ledgers...)
	c.change("# launch", drifted)
	replaced := func(s client.Status) (n int) {
		for _, a := range s.Agents {
			if a.PID != 0 && a.PID != before[a.Name] {
				n++
			}
		}
		return n
	}
	down := 0
	c.await("partly restarted", func(s client.Status) bool {
		now := 0
		for _, a := range s.Agents {
			if a.State != client.StateRunning {
				now++
			}
		}
		down = max(down, now)
		return replaced(s) >= 6
	})
	c.change(drifted, "# launch")
	at := c.await("answering", func(client.Status) bool { return true })
	untouched := map[string]int{}
	for _, a := range at.Agents {
		if a.PID == before[a.Name] && a.State == client.StateRunning && len(a.Drift) == 0 {
			untouched[a.Name] = a.PID
		}
	}
	pause(5 * time.Second) // long enough to restart all
	status := c.await("answering", func(client.Status) bool { return true })
	for agent, pid := range untouched {
		if now := agentIn(status, agent).PID; now != pid {
			t.Errorf("%s was restarted although the edit was taken back", agent)
		}
	}
	counter.end()
	t.Logf("%d agents: at most %d down at once by the process table, %d by the status; %d were spared by taking the edit back",
		agents, agents-counter.least, down, len(untouched))
	if agents-counter.least > disruptions || down > disruptions {
		t.Errorf("%d (status: %d) agents were down at once, want at most %d", agents-counter.least, down, disruptions)
	}
	if len(untouched) == 0 || len(untouched) == agents {
		t.Errorf("%d were spared: the edit was taken back too late or too early", len(untouched))
	}
	c.stop()
}
