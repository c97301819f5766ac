package cli

import (
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

func TestAStopSaysWhatItWaitsFor(t *testing.T) {
	got := stillRunning(client.Status{Agents: []client.Agent{
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

func TestARestartIsOverWhenTheNewInstanceHolds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := &app{Base: viewAt(cmdenv.Env{Now: func() time.Time { return now }})}
	running := client.Agent{Desired: client.StateRunning, State: client.StateRunning, Instance: "1", StartedAt: now}
	next, old := running, running
	next.Instance = "2"
	old.StartedAt = now.Add(-cmdenv.StableAfter)
	failed, quarantined := client.Agent{State: client.StateFailed}, client.Agent{State: client.StateQuarantined}
	for name, c := range map[string]struct {
		was, is client.Agent
		want    cmdenv.Verdict
	}{
		"the previous one":     {running, running, cmdenv.Waiting},
		"the next one":         {running, next, cmdenv.Reached},
		"failed, runs now":     {failed, next, cmdenv.Waiting},
		"quarantined, proven":  {quarantined, old, cmdenv.Reached},
		"quarantined, relapse": {quarantined, running, cmdenv.Waiting},
	} {
		if got := a.judgeRestart(c.was, c.is); got != c.want {
			t.Errorf("%s: the verdict is %d, want %d", name, got, c.want)
		}
	}
}
