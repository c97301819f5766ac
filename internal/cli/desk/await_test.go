package desk

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// TestAnAgentThatFailedMustProveItself: an agent in a crash loop runs for a
// moment after each start, and that is no good news.
func TestAnAgentThatFailedMustProveItself(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	a := &Desk{Env: Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: func() time.Time { return now }}}
	w := a.newVigil(Wanted)
	see := func(state string) bool {
		return w.look(client.Status{Agents: []client.Agent{{Name: "a", Desired: client.StateRunning, State: state, StartedAt: now, Reason: "exit 1"}}})
	}
	if !see(client.StateFailed) || !see(client.StateRunning) {
		t.Fatal("a failed agent that runs again is waited for")
	}
	if w.sum() == nil || strings.Contains(out.String(), "ok  a") {
		t.Errorf("an agent that has just failed counts as running: %s", out.String())
	}
	started := now
	now = now.Add(Proven)
	w.look(client.Status{Agents: []client.Agent{{Name: "a", Desired: client.StateRunning, State: client.StateRunning, StartedAt: started}}})
	if err := w.sum(); err != nil {
		t.Errorf("an agent that ran for %v does not count: %s", Proven, out.String())
	}
}

func TestAPlaceThatDoesNotAnswerIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	a := &Desk{Env: Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: time.Now}}
	w := a.newVigil(Wanted)
	for range 3 {
		w.look(client.Status{
			Controller: client.Controller{Degraded: "provider pty: /tmp/x belongs to user 1"},
			Agents:     []client.Agent{{Name: "a", Desired: client.StateRunning, State: client.StateUnknown}},
		})
	}
	if got := strings.Count(out.String(), "/tmp/x belongs to user 1"); got != 1 {
		t.Errorf("the reason why nothing starts was told %d times:\n%s", got, out.String())
	}
}
