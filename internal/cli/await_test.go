package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/cli/desk"
)

// TestAnAgentThatFailedMustProveItself: an agent in a crash loop runs for a
// moment after each start, and that is no good news.
func TestAnAgentThatFailedMustProveItself(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	a := &app{Desk: desk.Desk{Env: desk.Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: func() time.Time { return now }}}}
	w := &wait{app: a, judge: wanted, told: map[string]verdict{}, since: now}
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
	now = now.Add(proven)
	w.look(client.Status{Agents: []client.Agent{{Name: "a", Desired: client.StateRunning, State: client.StateRunning, StartedAt: started}}})
	if err := w.sum(); err != nil {
		t.Errorf("an agent that ran for %v does not count: %s", proven, out.String())
	}
}

func TestAPlaceThatDoesNotAnswerIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	a := &app{Desk: desk.Desk{Env: desk.Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: time.Now}}}
	w := &wait{app: a, judge: wanted, told: map[string]verdict{}, since: time.Now()}
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

func TestAStopSaysWhatItWaitsFor(t *testing.T) {
	got := notEnded(client.Status{Agents: []client.Agent{
		{Name: "a", State: client.StateStopping, Reason: "the last stop failed: processes [7] still run"},
		{Name: "b", State: client.StateStopped},
		{Name: "c", State: client.StateSuspended},
		{Name: "d", State: client.StateFailed},
		{Name: "e", State: client.StateUnknown, Reason: "its provider cannot be opened"},
	}})
	want := []string{"a (stopping; the last stop failed: processes [7] still run)", "e (unknown; its provider cannot be opened)"}
	if !slices.Equal(got, want) {
		t.Errorf("a stop waits for %q, want %q", got, want)
	}
}

func TestARestartIsOverWhenTheNewIncarnationHolds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := &app{Desk: desk.Desk{Env: desk.Env{Now: func() time.Time { return now }}}}
	running := client.Agent{Desired: client.StateRunning, State: client.StateRunning, Instance: "1", StartedAt: now}
	next, old := running, running
	next.Instance = "2"
	old.StartedAt = now.Add(-proven)
	failed, quarantined := client.Agent{State: client.StateFailed}, client.Agent{State: client.StateQuarantined}
	for name, c := range map[string]struct {
		was, is client.Agent
		want    verdict
	}{
		"the former one":       {running, running, waiting},
		"the next one":         {running, next, settled},
		"failed, runs now":     {failed, next, waiting},
		"quarantined, proven":  {quarantined, old, settled},
		"quarantined, relapse": {quarantined, running, waiting},
	} {
		if got := a.restarted(c.was, c.is); got != c.want {
			t.Errorf("%s: the verdict is %d, want %d", name, got, c.want)
		}
	}
}
