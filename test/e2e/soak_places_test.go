package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
)

// TestPlacesReconcile is a short [TestPromptsReconcile] for a city whose agents run on pty, tmux, subprocess
// and a session script over GNU screen. The controller is killed while a prompt is delivered to the agent in
// screen, and to the one in tmux. Afterwards every receipt is compared with the ledgers of the agents.
func TestPlacesReconcile(t *testing.T) {
	t.Parallel()
	const each = 4
	c := newCityOf(t, "", nil)
	var agents []soakAgent
	where := map[string]string{}
	for _, place := range c.places(t) {
		if !slices.Contains([]string{"pty", "tmux", "subprocess", "exec:./session-screen"}, place) {
			continue
		}
		name := strings.TrimPrefix(place, "exec:./session-")
		c.addFor(name, place)
		where[name] = place
		agents = append(agents, soakAgent{member: member{name: name}, place: place, mute: name == "subprocess" || name == "screen"})
	}
	c.start()
	before := c.waitPlaced(where)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	prompts := make([][]sent, len(agents))
	var senders sync.WaitGroup
	for i, m := range agents {
		senders.Go(func() {
			for n := range each {
				p := sent{sender: i, n: n, agent: m.name, text: placeText(m.name, n), key: fmt.Sprintf("s%d-%d", i, n)}
				if c.post(ctx, t, &p) {
					prompts[i] = append(prompts[i], p)
				}
			}
		})
	}
	sending := make(chan struct{})
	go func() { senders.Wait(); close(sending) }()
	for _, name := range []string{"tmux", "screen"} {
		c.killDuring(ctx, name, sending)
		c.start()
	}
	<-sending
	c.waitQueueEmpty(ctx, t)
	all := c.receipts(ctx, t, slices.Concat(prompts...))
	if len(all) != each*len(agents) {
		t.Errorf("%d prompts were accepted, want %d", len(all), each*len(agents))
	}
	c.reconcile(t, agents, all, nil)
	for name, pid := range c.waitPlaced(where) {
		if before[name] != pid {
			t.Errorf("%s was process %d, and is %d after the controller's deaths", name, before[name], pid)
		}
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
}

// placeText returns a prompt: short, of several lines, or taller than an input box.
func placeText(agent string, n int) string {
	text := fmt.Sprintf("%s-%d", agent, n)
	switch n % 4 {
	case 1:
		text += " of\n\ntwo lines"
	case 2:
		text += strings.Repeat(" lorem ipsum dolor;", 130)
	}
	return text
}

// killDuring kills the controller while a prompt is delivered to the agent, or when all its prompts are sent.
func (c *city) killDuring(ctx context.Context, agent string, sending <-chan struct{}) {
	c.t.Helper()
	for last := false; ctx.Err() == nil; pause(5 * time.Millisecond) {
		open, err := c.client.Queue(ctx, agent, client.OnlyOpen)
		if err == nil && slices.ContainsFunc(open, func(r client.Receipt) bool { return r.State == client.ReceiptInjected }) {
			break
		}
		if err == nil && last && len(open) == 0 {
			c.t.Logf("no prompt of %s was caught on its way", agent)
			break
		}
		select {
		case <-sending:
			last = true
		default:
		}
	}
	c.kill()
}
