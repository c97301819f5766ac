package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// handoverKills is how often the controller is killed during a delivery; GC_KILLS changes it.
func handoverKills(t *testing.T) int {
	t.Helper()
	n := 10
	if text := os.Getenv("GC_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("GC_KILLS: %v", err)
		}
	}
	return n
}

// deliveryBound is the progress_timeout of the city of the test.
const deliveryBound = 10 * time.Second

// TestNoAgentGoesDeaf kills the controller while it delivers prompts: at its start, between the
// paste and Enter, and while it waits for what comes of it. Within the bound every receipt
// is final or says what it waits for, and the next prompt reaches every agent.
func TestNoAgentGoesDeaf(t *testing.T) {
	crew := []member{
		{name: "inline"},
		{name: "full", flags: "--alt-screen"},
		{name: "slow", flags: "--slow-read 100ms"},
		{name: "typed", flags: "--no-bracketed-paste"},
		{name: "twice", flags: "--ignore-first-enter"},
		{name: "reports", flags: "--osc7501"},
		{name: "mux", toml: "session = \"tmux\""},
		{name: "piped", flags: piped, toml: "session = \"subprocess\"\nenv = { GC_STDIN = \"framed\" }", ready: "fakeagent ready"},
	}
	c := newCrew(t, fmt.Sprintf("[delivery]\nprogress_timeout = %q\n", deliveryBound), crew)
	c.start()
	c.await("running", running)
	sent := map[string]string{} // the agent by receipt
	send := func(agent, text string) string {
		var r client.Receipt
		for end := time.Now().Add(patience); ; {
			var err error
			r, err = c.client.Nudge(t.Context(), agent, client.NudgeRequest{Text: text, Key: text})
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s takes no prompt: %v", agent, err)
			}
			pause(50 * time.Millisecond)
		}
		sent[r.ID] = agent
		return r.ID
	}
	for n := range handoverKills(t) {
		for k := range 3 { // the windows of several agents at once
			agent := crew[(3*n+k)%len(crew)].name
			send(agent, fmt.Sprintf("%s prompt %d", agent, n))
		}
		pause(time.Duration(rand.IntN(250)) * time.Millisecond)
		c.kill()
		c.start()
	}
	c.await("adopted", running)
	ctx, cancel := context.WithTimeout(t.Context(), 2*deliveryBound+patience)
	defer cancel()
	states := map[string]int{}
	for id, agent := range sent {
		r, err := c.client.Receipt(ctx, id, client.ReceiptSubmitted)
		if err != nil && (!errors.Is(err, client.ErrTimeout) || r.State != client.ReceiptQueued || r.Reason == "") {
			t.Errorf("%s: the receipt %s is %s (%s), %v: neither final nor waiting for a stated cause", agent, id, r.State, r.Reason, err)
		}
		states[agent+" "+r.State]++
	}
	for _, m := range crew {
		id := send(m.name, "the next prompt of "+m.name)
		if r, err := c.client.Receipt(ctx, id, client.ReceiptSubmitted); err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed && (m.name != "piped" || r.State != client.ReceiptUnconfirmed) {
			shown, _ := c.client.Peek(ctx, m.name, 10)
			t.Errorf("%s is deaf: its next prompt is %s (%s), %v\n%s", m.name, r.State, r.Reason, err, strings.TrimSpace(shown.Text))
		}
	}
	t.Logf("%d kills, %d prompts: %v", handoverKills(t), len(sent), states)
}
