package cmdenv

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// TestAnAgentThatFailedMustProveItself checks that a failed agent does not count as running at once: an agent in a crash loop runs for a
// moment after each start.
func TestAnAgentThatFailedMustProveItself(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	a := &Base{Env: Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: func() time.Time { return now }}}
	w := a.newWaiter(Wanted)
	see := func(state string) bool {
		return w.update(client.Status{Agents: []client.Agent{{Name: "a", Desired: client.StateRunning, State: state, StartedAt: now, Reason: "exit 1"}}})
	}
	if !see(client.StateFailed) || !see(client.StateRunning) {
		t.Fatal("a failed agent that runs again is waited for")
	}
	if w.printSummary() == nil || strings.Contains(out.String(), "ok  a") {
		t.Errorf("an agent that has just failed counts as running: %s", out.String())
	}
	started := now
	now = now.Add(StableAfter)
	w.update(client.Status{Agents: []client.Agent{{Name: "a", Desired: client.StateRunning, State: client.StateRunning, StartedAt: started}}})
	if err := w.printSummary(); err != nil {
		t.Errorf("an agent that ran for %v does not count: %s", StableAfter, out.String())
	}
}

func TestAnUnreachableProviderIsReportedOnce(t *testing.T) {
	var out bytes.Buffer
	a := &Base{Env: Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: time.Now}}
	w := a.newWaiter(Wanted)
	for range 3 {
		w.update(client.Status{
			Controller: client.Controller{Degraded: "provider pty: /tmp/x belongs to user 1"},
			Agents:     []client.Agent{{Name: "a", Desired: client.StateRunning, State: client.StateUnknown}},
		})
	}
	if got := strings.Count(out.String(), "/tmp/x belongs to user 1"); got != 1 {
		t.Errorf("the reason why nothing starts was printed %d times:\n%s", got, out.String())
	}
}

// testWaiter returns a Waiter whose time is *now, and its output.
func testWaiter(now *time.Time) (*Waiter, *bytes.Buffer) {
	var out bytes.Buffer
	d := &Base{Env: Env{Stderr: &out, Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }, Now: func() time.Time { return *now }}}
	w := d.newWaiter(Wanted)
	w.until = now.Add(2 * time.Minute)
	return w, &out
}

func TestDelayedAgentsAreReportedAndNotAwaited(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	agent := func(name, state, reason string, next time.Duration) client.Agent {
		a := client.Agent{Name: name, Desired: client.StateRunning, State: state, Reason: reason}
		if next > 0 {
			a.NextAt = now.Add(next)
		}
		return a
	}
	rests := func(name, state, reason string) client.Agent {
		return client.Agent{Name: name, Desired: client.StateStopped, State: state, Reason: reason}
	}
	for name, c := range map[string]struct {
		agents []client.Agent
		want   []string
		failed bool
	}{
		"a limit for hours": {[]client.Agent{agent("a", "running", "", 0), agent("b", "stopped", "limited until tomorrow", 3*time.Hour)}, []string{"waiting  b: limited until tomorrow; next try in 3h00m\n", "1 agent runs, 1 waits; see: gc status"}, false},
		"quarantine":        {[]client.Agent{agent("a", "quarantined", "5 failures\nlast", time.Hour)}, []string{"quarantined  a: 5 failures … last\n", "no agent runs, 1 failed"}, true},
		"those that rest": {
			[]client.Agent{rests("p-1", "stopped", "the pool p wants 0"), rests("p-2", "stopped", "the pool p wants 0"), rests("s", "asleep", "it sleeps")},
			[]string{"stopped  s: it sleeps\n", "stopped  p-1, p-2: the pool p wants 0\n", "no agent runs\n"},
			false,
		},
	} {
		w, out := testWaiter(&now)
		if !w.update(client.Status{Agents: c.agents}) {
			t.Errorf("%s is waited for: %q", name, w.open)
		}
		if err := w.printSummary(); (err != nil) != c.failed {
			t.Errorf("%s ends with %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s is printed as\n%s\nwant %q", name, out, want)
			}
		}
	}
}

// TestAnAgentWithoutProgressIsNotAwaited covers agents whose dependency has
// failed or should not run, and agents whose dependency makes progress.
func TestAnAgentWithoutProgressIsNotAwaited(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	waiting := client.Agent{Name: "b", Desired: client.StateRunning, State: client.StateStopped, Reason: "it waits for a"}
	for name, c := range map[string]struct {
		dep    client.Agent
		awaits bool
	}{
		"failed":         {client.Agent{Desired: client.StateRunning, State: client.StateFailed, NextAt: now.Add(time.Minute)}, false},
		"a pool of none": {client.Agent{Desired: client.StateStopped, State: client.StateStopped}, false},
		"limited":        {client.Agent{Desired: client.StateRunning, State: client.StateStopped, NextAt: now.Add(time.Hour)}, false},
		"starting":       {client.Agent{Desired: client.StateRunning, State: client.StateStarting}, true},
		"soon":           {client.Agent{Desired: client.StateRunning, State: client.StateStopped, NextAt: now.Add(20 * time.Second)}, true},
		"stopping":       {client.Agent{Desired: "absent", State: client.StateStopping}, true},
		"unknown":        {client.Agent{Desired: client.StateRunning, State: client.StateUnknown}, true},
	} {
		w, out := testWaiter(&now)
		c.dep.Name = "a"
		status := client.Status{Agents: []client.Agent{c.dep, waiting}}
		begun := now
		if w.update(status) {
			t.Errorf("%s: nothing is waited for at the first look", name)
		}
		for range 8 {
			now = now.Add(time.Second)
			w.update(status)
		}
		if awaits := len(w.open) > 0; awaits != c.awaits || strings.Contains(out.String(), "waiting  b: it waits for a") == awaits {
			t.Errorf("%s: waiting is %v, want %v:\n%s", name, awaits, c.awaits, out)
		}
		now = begun
	}
}
