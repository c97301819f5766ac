package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// oneOf waits until an agent runs as another process than the given one, and returns it.
func (c *city) oneOf(agent string, former int) client.Agent {
	c.t.Helper()
	var found client.Agent
	c.await(agent+" again", func(s client.Status) bool {
		for _, a := range s.Agents {
			if a.Name == agent && a.State == client.StateRunning && a.PID != 0 && a.PID != former {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// starts returns how the agent's starts found their conversation.
func (c *city) starts(agent string) []ledger.Record {
	c.t.Helper()
	records, err := ledger.Read(c.ledgerOf(agent))
	if err != nil {
		c.t.Fatal(err)
	}
	return ledger.Of(records, ledger.Start)
}

// removeFailures removes the pauses after failures by a restart, because a reset would also remove the
// conversation.
func (c *city) removeFailures(agent string) {
	c.t.Helper()
	if _, err := c.client.Restart(c.t.Context(), agent); err != nil {
		c.t.Fatal(err)
	}
}

// TestCrashKeepsTheConversation kills an agent at random moments. Each next instance continues the same
// conversation, and no prompt in it is lost.
func TestCrashKeepsTheConversation(t *testing.T) {
	c := newCityOf(t, "max_restarts = 0\n", []member{{name: "one", talks: true}})
	c.start()
	defer c.stop()
	agent := c.oneOf("one", 0)
	id := c.starts("one")[0].Conversation
	if id == "" {
		t.Fatal("the agent has no conversation of its own")
	}
	startForeignConversation(t, c)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 10 {
		if i%2 == 0 {
			nudge(t, c, "one", fmt.Sprintf("work on %d", i))
		}
		pause(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
		send(t, agent.PID, syscall.SIGKILL)
		gone := agent.PID
		c.await("the end of "+fmt.Sprint(gone), func(s client.Status) bool { return s.Agents[0].PID != gone })
		c.removeFailures("one")
		agent = c.oneOf("one", gone)
		records, err := ledger.Read(c.ledgerOf("one"))
		if err != nil {
			t.Fatal(err)
		}
		turns := len(ledger.Prompts(records)) // the agent may have been killed between two writes
		starts := ledger.Of(records, ledger.Start)
		if last := starts[len(starts)-1]; last.Conversation != id || last.Turns < turns-1 || last.Turns > turns+1 {
			t.Fatalf("crash %d: the agent is in %s with %d turns, want %s with %d", i, last.Conversation, last.Turns, id, turns)
		}
	}
}

// startForeignConversation starts a later conversation of another agent in the same directory, so that "the
// latest conversation" would be the wrong one.
func startForeignConversation(t *testing.T, c *city) {
	t.Helper()
	cmd := exec.Command(c.agent, "--conversations", filepath.Join(c.root, "conversations"), "--session-id", "startForeignConversation", "--plain")
	cmd.Dir = c.root
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	for range 1000 {
		if _, err := os.Stat(filepath.Join(c.root, "conversations", "startForeignConversation")); err == nil {
			return
		}
		pause(10 * time.Millisecond)
	}
	t.Fatal("the startForeignConversation has no conversation")
}

// countEvents counts an agent's events of a kind after a mark.
func (c *city) countEvents(t *testing.T, mark uint64, agent, kind string) int {
	t.Helper()
	page, err := c.client.PastEvents(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range page.Events {
		if e.Agent == agent && e.Kind == kind {
			n++
		}
	}
	return n
}

// TestConversationThatCannotBeResumed removes the conversation, or keeps it in use. The agent runs after
// a bounded number of starts, and the explanation has the reason for its new conversation.
func TestConversationThatCannotBeResumed(t *testing.T) {
	c := newCityOf(t, "", []member{{name: "gone", talks: true}, {name: "taken", talks: true}})
	c.start()
	defer c.stop()
	spoil := map[string]func(path string){
		"gone": func(path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"taken": func(path string) { lockConversation(t, path) },
	}
	for agent, words := range map[string]string{"gone": "not found", "taken": "in use"} {
		before := c.oneOf(agent, 0)
		nudge(t, c, agent, "remember the seven")
		id := c.starts(agent)[0].Conversation
		mark := c.lastEvent(t)
		send(t, before.PID, syscall.SIGKILL)
		spoil[agent](filepath.Join(c.root, "conversations", id))
		after := c.oneOf(agent, before.PID)
		if n := c.countEvents(t, mark, agent, "session.starting"); n > 3 {
			t.Errorf("%s took %d starts, up to instance %d, want 3 at most", agent, n, after.Epoch)
		}
		starts := c.starts(agent)
		if last := starts[len(starts)-1]; last.Conversation == "" || last.Conversation == id {
			t.Errorf("%s is in %q", agent, last.Conversation)
		}
		e, err := c.client.Explain(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := json.Marshal(e.Facts)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(facts), id) || !strings.Contains(string(facts), words) {
			t.Errorf("the explanation of %s does not say why: %s", agent, facts)
		}
	}
}

// lockConversation keeps a conversation in use, as soon as the agent that had it has ended.
func lockConversation(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// TestWaitingPromptFollowsItsConversation queues prompts behind a question and
// kills the agent. The next instance gets them if it continues the conversation, and not in a new one. The
// prompts wait for a question and not for a turn, because they may be sent during a turn, and the outcome of a
// delivery to a killed agent is unknown.
func TestWaitingPromptFollowsItsConversation(t *testing.T) {
	c := newCityOf(t, "", []member{{name: "goes-on", talks: true}, {name: "begins", talks: true}})
	c.start()
	defer c.stop()
	for agent, want := range map[string]bool{"goes-on": true, "begins": false} {
		before := c.oneOf(agent, 0)
		nudge(t, c, agent, "[[ask:May I go on?|Yes|No]]")
		c.await("at its question", func(status client.Status) bool { // from then on nothing is typed
			return slices.ContainsFunc(status.Agents, func(a client.Agent) bool {
				return a.Name == agent && a.Activity.State == string(runtime.ActivityWaiting)
			})
		})
		r, err := c.client.Nudge(t.Context(), agent, client.NudgeRequest{Text: "for this conversation"})
		if err != nil || r.Ended() || r.Attempts != 0 {
			t.Fatalf("%s: the prompt does not wait: %+v, %v", agent, r, err)
		}
		if !want {
			if _, err := c.client.Reset(t.Context(), agent, client.LifecycleRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		send(t, before.PID, syscall.SIGKILL)
		c.oneOf(agent, before.PID)
		if r, err = c.client.Receipt(t.Context(), r.ID, client.ReceiptSubmitted); err != nil {
			t.Fatal(err)
		}
		records, err := ledger.Read(c.ledgerOf(agent))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.State != client.ReceiptDead; got != want {
			t.Errorf("%s: the receipt is %+v; want it delivered: %v", agent, r, want)
		}
		prompts := ledger.Prompts(records)
		if got := strings.Contains(prompts[len(prompts)-1].Text, "for this conversation"); got != want {
			t.Errorf("%s: the last prompt is %q; want the one that waited: %v", agent, prompts[len(prompts)-1].Text, want)
		}
	}
}
