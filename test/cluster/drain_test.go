package cluster_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

const node = "127.0.0.1"

// A node that is drained takes an agent's pod away under its turn: the turn comes to its end in the
// pod's grace, or is interrupted, and is reported as what it was; the next pod goes on with the
// conversation, and what waits is given to the agent there, once.
func TestConversationOutlivesADrain(t *testing.T) {
	requireCluster(t)
	c, dir := newTalker(t)
	records := func(kind string) []ledger.Record {
		return ledger.Of(must(ledger.Read(filepath.Join(dir, "ledger"))), kind)
	}
	running := func(epoch int) func() bool {
		return func() bool {
			status, err := c.client.Status(t.Context())
			return err == nil && len(status.Agents) == 1 && status.Agents[0].State == client.StateRunning && int(status.Agents[0].Epoch) == epoch
		}
	}
	send := func(text string) string {
		t.Helper()
		return must(c.client.Nudge(t.Context(), "one", client.NudgeRequest{Text: text, Key: text})).ID
	}
	state := func(id string) string { return must(c.client.Receipt(t.Context(), id, "")).State }
	eventually(t, "the agent", running(1))

	// One that ends in time.
	short := send("[[busy:8s]]a short turn")
	eventually(t, "the short turn", func() bool { return len(records(ledger.Prompt)) == 1 })
	waiting := send("what waits")
	defer func() {
		if t.Failed() {
			t.Logf("what has waited: %s\n%s", c.gc("receipt", waiting), c.gc("events", "one"))
		}
	}()
	began := time.Now()
	kubectl(t, "drain", node, "--force", "--delete-emptydir-data", "--pod-selector=gc-agent=one")
	took := time.Since(began)
	// What waits may be given to it before it knows that it is to go: then its turn ends, too.
	if n, cut := len(records(ledger.Answered)), len(records(ledger.Interrupted)); n < 1 || n > 2 || cut != 0 {
		t.Errorf("%d turns ended and %d were interrupted by a drain of %v", n, cut, took)
	}
	eventually(t, "why it does not run", func() bool { return strings.Contains(c.gc("explain", "-v", "one"), "unschedulable") })
	t.Logf("drained in %v\n%s", took, c.gc("explain", "-v", "one"))
	kubectl(t, "uncordon", node)
	eventually(t, "the agent in its second pod", running(2))
	eventually(t, "what has waited", func() bool { s := state(waiting); return s == client.ReceiptConsumed || s == client.ReceiptSubmitted })
	if s := state(short); s != client.ReceiptConsumed && s != client.ReceiptSubmitted {
		t.Errorf("the turn that ended is %s", s)
	}

	// One that does not.
	long := send("[[busy:10m]]a long turn")
	eventually(t, "the long turn", func() bool { return len(records(ledger.Prompt)) == 3 })
	began = time.Now()
	evict(t, podOf(t, "one"))
	eventually(t, "its interruption", func() bool { return len(records(ledger.Interrupted)) == 1 })
	t.Logf("interrupted after %v", time.Since(began))
	eventually(t, "the agent in its third pod", running(3))
	if s := state(long); s == client.ReceiptConsumed && len(records(ledger.Interrupted)) != 1 || s == client.ReceiptDead {
		t.Errorf("the turn that was interrupted is %s", s)
	}
	if err := c.promptAndWait("one", "after all"); err != nil {
		t.Error(err)
	}

	starts := records(ledger.Start)
	if len(starts) != 3 {
		t.Fatalf("it was started as %+v", starts)
	}
	for i, r := range starts {
		if r.Conversation == "" || r.Conversation != starts[0].Conversation {
			t.Errorf("start %d goes on with the conversation %q of %d turns, the first began %q", i+1, r.Conversation, r.Turns, starts[0].Conversation)
		}
	}
	taken := map[string]int{}
	for _, r := range records(ledger.Prompt) {
		taken[r.Text]++
	}
	for _, text := range []string{"[[busy:8s]]a short turn", "what waits", "[[busy:10m]]a long turn", "after all"} {
		if taken[text] != 1 {
			t.Errorf("%q was taken %d times", text, taken[text])
		}
	}
	events := c.gc("events", "one")
	if !strings.Contains(events, "evicted") {
		t.Errorf("the eviction is not reported:\n%s", events)
	}
}
