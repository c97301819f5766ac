package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// resumeSpread is the longest delay of a start after a limit. It prevents that many agents start at once.
const resumeSpread = time.Minute

// TestUsageLimitIsNoFailure has agents that exit, or continue, with the message of a usage limit. No agent is
// started during the limit, each once afterwards, and none is quarantined although a single failure would be
// enough.
func TestUsageLimitIsNoFailure(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "max_restarts = 1\npatrol_interval = \"1s\"\n", []member{
		{name: "limit3181", toml: claude}, {name: "limit4739", toml: claude}, // their starts have a short delay
		{name: "no-end", toml: claude}, {name: "at-start", flags: "--limit never", toml: claude}, {name: "stays", toml: claude},
	})
	c.start()
	c.await("running", func(s client.Status) bool {
		n := 0
		for _, a := range s.Agents {
			if a.Name == "at-start" || a.State == client.StateRunning {
				n++
			}
		}
		return n == 5
	})
	var group sync.WaitGroup
	for _, agent := range []string{"limit3181", "limit4739"} {
		group.Go(func() { c.resumesOnce(t, agent) })
	}
	for _, agent := range []string{"no-end", "at-start"} {
		group.Go(func() { c.waitsUnknown(t, agent) })
	}
	group.Go(func() { c.checkLimitHoldsPrompts(t, "stays") })
	group.Wait()
	status := c.await("answering", func(client.Status) bool { return true })
	for _, a := range status.Agents {
		if a.State == client.StateQuarantined {
			t.Errorf("%s is in quarantine: %s", a.Name, a.Reason)
		}
	}
	c.stop()
}

// resumesOnce makes an agent exit because of a limit of 3 s.
func (c *city) resumesOnce(t *testing.T, agent string) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if _, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: "[[limit:3s|exit]]"}); err != nil {
		t.Errorf("%s: %v", agent, err)
	}
	if _, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Exit, 1)); err != nil {
		t.Errorf("%s: %v", agent, err)
		return
	}
	c.limited(ctx, t, agent, "limited until")
	records, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Ready, 2))
	if err != nil {
		t.Errorf("%s never resumed: %v", agent, err)
		return
	}
	limit, starts := ledger.Of(records, ledger.Limited)[0].Time, ledger.Of(records, ledger.Start)
	after := starts[1].Time.Sub(limit)
	t.Logf("%s: a limit of 3 s, started again after %v", agent, after.Round(time.Millisecond))
	if after < 3*time.Second || after > 3*time.Second+resumeSpread+10*time.Second {
		t.Errorf("%s was started %v after a limit of 3 s", agent, after)
	}
	pause(4 * time.Second) // no further start must follow
	if n := len(ledger.Of(c.records(t, agent), ledger.Start)); n != 2 {
		t.Errorf("%s was started %d times, want once after the limit", agent, n-1)
	}
	if a := c.awaitAgent(agent, client.StateRunning); a.Epoch != 2 {
		t.Errorf("the instance of %s after its limit has number %d, want 2", agent, a.Epoch)
	}
}

// waitsUnknown makes an agent exit because of a limit without a known end.
func (c *city) waitsUnknown(t *testing.T, agent string) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if agent != "at-start" {
		if _, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: "[[limit:|exit]]"}); err != nil {
			t.Errorf("%s: %v", agent, err)
		}
	}
	if _, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Exit, 1)); err != nil {
		t.Errorf("%s: %v", agent, err)
		return
	}
	a := c.limited(ctx, t, agent, "no reset time known")
	if wait := time.Until(a.NextAt); wait < 20*time.Minute {
		t.Errorf("%s is tried again in %v, want a probe in half an hour", agent, wait)
	}
	pause(12 * time.Second) // twelve patrols
	if n := len(ledger.Of(c.records(t, agent), ledger.Start)); n != 1 {
		t.Errorf("%s was started %d times during its limit", agent, n-1)
	}
	if s, err := c.client.Session(ctx, agent); err != nil || s.Epoch != 1 {
		t.Errorf("during its limit the last instance of %s has number %d, %v; want 1", agent, s.Epoch, err)
	}
}

// limited waits until the status shows the limit.
func (c *city) limited(ctx context.Context, t *testing.T, agent, words string) client.Agent {
	t.Helper()
	for {
		s, err := c.client.Session(ctx, agent)
		if err == nil && strings.Contains(s.Reason, words) {
			return s.Agent
		}
		if ctx.Err() != nil {
			t.Errorf("the status of %s never said %q: %+v, %v", agent, words, s.Agent, err)
			return client.Agent{}
		}
		pause(10 * time.Millisecond)
	}
}

// checkLimitHoldsPrompts shows a limit of 4 s to an agent that stays: prompts wait for its
// end.
func (c *city) checkLimitHoldsPrompts(t *testing.T, agent string) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	nudge(t, c, agent, "[[limit:4s]]")
	records, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Limited, 1))
	if err != nil {
		t.Errorf("%s: %v", agent, err)
		return
	}
	shown := ledger.Of(records, ledger.Limited)[0].Time
	for {
		s, err := c.client.Session(ctx, agent)
		if err == nil && s.Activity.State == "limited" {
			if s.Activity.Until.IsZero() {
				t.Errorf("the limit of %s has no end: %+v", agent, s.Activity)
			}
			break
		}
		if ctx.Err() != nil {
			t.Errorf("%s never was limited: %+v, %v", agent, s.Agent, err)
			return
		}
		pause(10 * time.Millisecond)
	}
	r, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: "later", Wait: client.ReceiptConsumed})
	if err != nil || r.State != client.ReceiptConsumed {
		t.Errorf("%s: the prompt after the limit is %+v, %v", agent, r, err)
	}
	for _, p := range ledger.Prompts(c.records(t, agent)) {
		if p.Is("later") {
			t.Logf("%s: a prompt during a limit of 4 s was taken after %v", agent, p.Time.Sub(shown).Round(time.Millisecond))
			if p.Time.Sub(shown) < 3*time.Second { // the screen counts in whole seconds
				t.Errorf("%s got a prompt %v after a limit of 4 s", agent, p.Time.Sub(shown))
			}
			return
		}
	}
	t.Errorf("%s never took the prompt", agent)
}
