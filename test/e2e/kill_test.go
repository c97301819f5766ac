package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// kills returns how often the controller is killed; GC_E2E_KILLS changes it.
func kills(t *testing.T) int {
	t.Helper()
	n := 50
	if text := os.Getenv("GC_E2E_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("GC_E2E_KILLS: %v", err)
		}
	}
	return n
}

// TestKilledControllerStopsNoAgent kills it at random moments while prompts are delivered. No agent
// exits, all are adopted, none runs twice, and no prompt is accepted twice.
func TestKilledControllerStopsNoAgent(t *testing.T) {
	const agents = 6
	c := newCity(t, agents)
	c.start()
	before := pids(c.await("running", running))

	ctx, cancel := context.WithCancel(t.Context())
	load := &load{states: map[string]int{}}
	var senders sync.WaitGroup
	for i := range agents {
		senders.Go(func() { c.send(ctx, i, load) })
	}
	for range kills(t) {
		pause(time.Duration(rand.IntN(1500)) * time.Millisecond)
		c.kill()
		c.start()
	}
	cancel()
	senders.Wait()
	after := pids(c.await("adopted", running))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("agents died or were replaced (-before +after):\n%s", diff)
	}
	t.Logf("%d kills; the states of the prompts: %v", kills(t), load.states)
	if len(load.states) == 0 {
		t.Error("no prompt was sent: there was no load")
	}
	for i := range agents {
		c.checkLedger(i)
	}
	if census := c.stop(); !census.Clean || len(census.Sessions) != agents {
		t.Errorf("census is %+v, want %d sessions and clean", census, agents)
	}
	for agent, pid := range before {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("%s is still process %d after the stop", agent, pid)
		}
	}
}

// TestPromptsArriveAfterAnInterruptedDelivery kills the controller in the middle
// of deliveries. Later prompts must be accepted.
func TestPromptsArriveAfterAnInterruptedDelivery(t *testing.T) {
	c := newCity(t, 1)
	c.start()
	c.await("running", running)
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		sender := make(chan struct{})
		go func() {
			defer close(sender)
			_, _ = c.client.Nudge(ctx, name(0), client.NudgeRequest{Text: "cut off"}) // the controller dies
		}()
		pause(time.Duration(rand.IntN(150)) * time.Millisecond)
		c.kill()
		cancel()
		<-sender
		c.start()
		c.await("adopted", running)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r, err := c.client.Nudge(ctx, name(0), client.NudgeRequest{Text: "whole", Wait: client.ReceiptSubmitted})
	if err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed {
		t.Errorf("after the kills a prompt gives %+v, %v; want it submitted", r, err)
	}
}

// load counts the states of the prompts.
type load struct {
	mu     sync.Mutex
	states map[string]int
}

func (l *load) count(r client.Receipt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.states["no answer"]++
	case r.Reason != "":
		l.states[r.State+": "+r.Reason]++
	default:
		l.states[r.State]++
	}
}

// send sends prompts to one agent until ctx ends. Each is sent once, for any result.
func (c *city) send(ctx context.Context, i int, l *load) {
	for n := 0; ctx.Err() == nil; n++ {
		l.count(c.client.Nudge(ctx, name(i), client.NudgeRequest{Text: fmt.Sprintf("prompt %d of %s", n, name(i)), Wait: client.ReceiptSubmitted}))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// checkLedger fails if an agent started twice, or accepted a prompt twice or in parts.
func (c *city) checkLedger(i int) {
	c.t.Helper()
	records, err := ledger.Read(c.ledger(i))
	if err != nil {
		c.t.Fatal(err)
	}
	if starts := ledger.Of(records, ledger.Start); len(starts) != 1 {
		c.t.Errorf("%s started %d times, want once", name(i), len(starts))
	}
	taken := map[string]int{}
	for _, r := range ledger.Prompts(records) {
		var n int
		var who string
		if _, err := fmt.Sscanf(r.Text, "prompt %d of %s", &n, &who); err != nil || who != name(i) || !r.Is(fmt.Sprintf("prompt %d of %s", n, who)) {
			c.t.Errorf("%s took %q, which was never sent", name(i), r.Text)
		}
		taken[r.Text]++
	}
	for text, n := range taken {
		if n > 1 {
			c.t.Errorf("%s took %q %d times", name(i), text, n)
		}
	}
	if len(taken) == 0 {
		c.t.Errorf("%s took no prompt at all", name(i))
	}
	c.t.Logf("%s took %d different prompts", name(i), len(taken))
}

// pause waits for a random moment, which no event announces.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
