package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// workers returns the sample workers of examples/worker, by the agent that runs each.
// What they need to run comes with their commands.
func workers(t *testing.T, root string) map[string]string {
	t.Helper()
	examples, err := filepath.Abs("../../examples/worker")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{"go": filepath.Join(root, "worker"), "python": "python3 " + filepath.Join(examples, "python", "worker.py"), "shell": filepath.Join(examples, "shell", "worker.sh")}
	if err := build.Program(commands["go"], "gascity/examples/worker/go"); err != nil {
		t.Fatalf("cannot build the sample worker: %v", err)
	}
	for name, tools := range map[string][]string{"python": {"python3"}, "shell": {"curl", "jq"}} {
		for _, tool := range tools {
			if _, err := exec.LookPath(tool); err != nil {
				if strings.Contains(","+os.Getenv("GC_TEST_REQUIRE")+",", ","+tool+",") {
					t.Fatalf("%s is required by GC_TEST_REQUIRE and not installed", tool)
				}
				t.Logf("%s is not installed: the worker in %s is left out", tool, name)
				delete(commands, name)
			}
		}
	}
	return commands
}

// newWorkers makes a city of the sample workers. more is added to its city.toml.
func newWorkers(t *testing.T, more string) (c *city, names []string) {
	t.Helper()
	c = newCityOf(t, more, nil)
	path := filepath.Join(c.root, client.CityFile)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, command := range workers(t, c.root) {
		names = append(names, name)
		if _, err := fmt.Fprintf(file, "[[agents]]\nname = %q\nsession = \"subprocess\"\nstart_command = %q\nenv = {TMPDIR = %q}\n", name, "exec "+command, t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return c, names
}

// idleByWorker reports whether every worker reports that it is idle.
func idleByWorker(status client.Status) bool {
	for _, a := range status.Agents {
		if a.Activity.State != string(runtime.ActivityIdle) || a.Activity.Source != string(runtime.SourceWorker) {
			return false
		}
	}
	return running(status)
}

// TestWorkersInACity: the state of agents with a worker follows from its reports, and
// each prompt arrives once although controllers are killed.
func TestWorkersInACity(t *testing.T) {
	t.Parallel()
	const prompts, kills = 20, 4
	c, names := newWorkers(t, "")
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
	for range kills {
		pause(400 * time.Millisecond)
		c.kill()
		c.start()
	}
	for range len(names) * prompts {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for _, name := range names {
		text, err := c.client.Peek(ctx, name, 10*prompts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range prompts {
			if n := strings.Count(text.Text, fmt.Sprintf("answer: %s prompt %d.", name, i)); n != 1 {
				t.Errorf("%s answered prompt %d %d times", name, i, n)
			}
		}
	}
	status, err := c.client.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range status.Agents {
		if w := a.Worker; w == nil || w.RunID == "" || w.Status != "healthy" || w.State != "idle" || w.HeardAt.IsZero() {
			t.Errorf("of the worker of %s it is shown %+v", a.Name, w)
		}
	}
	u, err := c.client.Usage(ctx, client.UsageRequest{By: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range u.Groups {
		if sum.Turns != prompts {
			t.Errorf("%s reported %d turns: %+v", sum.Group, sum.Turns, sum)
		}
	}
	if len(u.Groups) != len(names) {
		t.Errorf("usage of %d agents: %+v", len(u.Groups), u)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// promptAndWait sends a prompt to an agent and waits until it was processed, also if controllers are killed.
func (c *city) promptAndWait(agent, text string) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), waitLimit)
	defer cancel()
	for {
		r, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: text, Key: agent + " " + text, Wait: client.ReceiptConsumed})
		switch {
		case err == nil && r.State == client.ReceiptConsumed:
			return nil
		case err == nil && r.Ended() && r.State != client.ReceiptSubmitted:
			return fmt.Errorf("%q ended %s: %s", text, r.State, r.Reason)
		case ctx.Err() != nil:
			return fmt.Errorf("%q: %w", text, errors.Join(ctx.Err(), err))
		case err != nil && !errors.Is(err, client.ErrNoController) && !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrTimeout):
			return fmt.Errorf("%q: %w", text, err)
		}
		pause(50 * time.Millisecond)
	}
}

// TestWorkersAreGuarded: a worker that asks before it uses a tool is denied what the rules
// forbid, and gets a person's answer if they require one.
func TestWorkersAreGuarded(t *testing.T) {
	t.Parallel()
	c, names := newWorkers(t, "[guard]\nsets = [\"dangerous-command\"]\n")
	c.start()
	c.await("running", running) // its workers may not have spoken yet: their prompts wait
	for _, name := range names {
		if err := c.promptAndWait(name, "run: git push --force origin main"); err != nil {
			t.Error(err)
		}
		c.shows(name, "allowed: false a force push destroys what others have pushed")
		answered := make(chan error, 1)
		go func() { answered <- c.promptAndWait(name, "run: git reset --hard") }()
		id := c.waitQuestion(name)
		p, err := c.client.Respond(t.Context(), id, client.RespondRequest{Option: "Allow once"})
		if err != nil {
			t.Errorf("cannot answer %+v: %v", p, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		c.shows(name, "allowed: true a person has allowed it")
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// shows waits until an agent has printed a text, ignoring case.
func (c *city) shows(agent, text string) {
	c.t.Helper()
	c.await("showing "+text, func(client.Status) bool {
		out, err := c.client.Peek(c.t.Context(), agent, 20)
		return err == nil && strings.Contains(strings.ToLower(out.Text), text)
	})
}

// waitQuestion waits until an agent asks a question, and returns its id.
func (c *city) waitQuestion(agent string) (id string) {
	c.t.Helper()
	c.await("asking", func(client.Status) bool {
		open, err := c.client.Pending(c.t.Context(), agent, client.OnlyOpen)
		if err != nil || len(open) == 0 {
			return false
		}
		id = open[0].ID
		return true
	})
	return id
}
