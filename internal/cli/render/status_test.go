package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// The status shows the provider of an agent where it differs.
func TestStatusTellsPlaces(t *testing.T) {
	agents := []client.Agent{{Name: "a", State: client.StateRunning, Provider: "pty"}, {Name: "b", State: client.StateRunning, Provider: "pty"}}
	if out := (Formatter{Now: noon}).Status(client.Status{Agents: agents}, nil, nil); strings.Contains(out, "pty") || strings.Contains(out, "BACKEND") {
		t.Errorf("a city of one place shows it:\n%s", out)
	}
	agents[1].Provider = "exec:./box"
	out := (Formatter{Now: noon}).Status(client.Status{Agents: agents}, nil, nil)
	for _, want := range []string{"BACKEND", "pty", "exec:./box"} {
		if !strings.Contains(out, want) {
			t.Errorf("a city of two places does not show %q:\n%s", want, out)
		}
	}
}

// An agent that moves is one row, that of where it is: it says where it goes.
func TestAnAgentThatMovesIsOneRow(t *testing.T) {
	agents := []client.Agent{
		{Name: "a", State: client.StateStopped, Provider: "tmux", Reason: "its previous session must end first"},
		{Name: "a", State: client.StateRunning, Provider: "pty", PID: 7, Reason: "it moves to tmux; deferred while the agent is busy"},
		{Name: "b", State: client.StateStopped, Provider: "pty", Reason: "b is suspended"},
	}
	out := (Formatter{Now: noon}).Status(client.Status{Agents: agents}, nil, nil)
	if strings.Contains(out, "must end first") || !strings.Contains(out, "it moves to tmux") || !strings.Contains(out, "b is suspended") {
		t.Errorf("the status is\n%s", out)
	}
}

// TestStatusShowsWhoWaitsFirst checks that an agent that waits for a person is the first row,
// also when the table is cut to the height of the terminal, and one that failed the second.
func TestStatusShowsWhoWaitsFirst(t *testing.T) {
	var agents []client.Agent
	for i := range 28 {
		agents = append(agents, client.Agent{Name: fmt.Sprintf("w-%d", i+1), State: client.StateRunning, Activity: client.Activity{State: "busy"}})
	}
	agents[26].Pending, agents[26].Activity.State = 1, "waiting"
	agents[24].State = client.StateFailed
	out := Formatter{Now: noon, Columns: 80, Rows: 24}.Status(client.Status{Agents: agents}, nil, nil)
	var names []string
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "w-") {
			names = append(names, name)
		}
	}
	if want := []string{"w-27", "w-25", "w-1", "w-2"}; len(names) < 4 || !slices.Equal(names[:4], want) {
		t.Errorf("the first rows are %v, want %v:\n%s", names, want, out)
	}
}

// TestStatusShowsABlockedInputBoxFirst checks that an agent whose input box is blocked stands
// above the table, with the reason, how many prompts wait and the command that helps.
func TestStatusShowsABlockedInputBoxFirst(t *testing.T) {
	agents := []client.Agent{
		{Name: "a", State: client.StateRunning, Activity: client.Activity{State: "idle"}},
		{Name: "b", State: client.StateRunning, Activity: client.Activity{State: "idle"}, Queued: 21, InputBlocked: "the box holds [pasted 3]", InputBlockedSince: noon.Add(-2 * 60e9)},
	}
	out := Formatter{Now: noon}.Status(client.Status{Agents: agents}, nil, nil)
	before, _, _ := strings.Cut(out, "AGENT")
	for _, want := range []string{"b is input blocked", "21 prompts waiting", "[pasted 3]", "gc keys b --clear-input", "gc restart b"} {
		if !strings.Contains(before, want) {
			t.Errorf("above the table %q is missing:\n%s", want, out)
		}
	}
	if !strings.Contains(out[len(before):], "input blocked") || strings.Contains(before, "a is") {
		t.Errorf("the status is\n%s", out)
	}
}

// TestStatusSaysWhyAnAgentMakesNoProgress: retries, no network, a login, a limit and the error
// that ended a turn are in the row, right behind the agents that wait for a person.
func TestStatusSaysWhyAnAgentMakesNoProgress(t *testing.T) {
	running := func(name string, o *client.AgentObstacle) client.Agent {
		return client.Agent{Name: name, State: client.StateRunning, Desired: client.StateRunning, Reason: "it runs as configured", Obstacle: o}
	}
	agents := []client.Agent{
		running("fine", nil),
		running("retries", &client.AgentObstacle{Kind: "retrying", Detail: "429 slow down", Attempt: 5, Of: 10, NextTry: noon.Add(6 * time.Second)}),
		running("offline", &client.AgentObstacle{Kind: "no_network", Detail: "ECONNREFUSED", Attempt: 2}),
		running("limited", &client.AgentObstacle{Kind: "limit", Detail: "5-hour limit", ProbeAt: noon.Add(time.Minute)}),
		running("failed", &client.AgentObstacle{Kind: "error", Detail: "API Error: 500"}),
		running("login", &client.AgentObstacle{Kind: "login", Detail: "Please run /login", ProbeAt: noon.Add(2 * time.Minute)}),
		{Name: "asks", State: client.StateRunning, Pending: 1, Activity: client.Activity{State: "waiting"}},
	}
	out := (Formatter{Now: noon}).Status(client.Status{Agents: agents}, nil, nil)
	for _, want := range []string{
		"retrying (attempt 5 of 10), next try in 6s: 429 slow down", "no network (attempt 2): ECONNREFUSED",
		"usage limit reached, no reset time known: 5-hour limit; next prompt is tried in 1m, or at once after: gc resume limited",
		"the last turn failed: API Error: 500", "login needed: Please run /login; next prompt is tried in 2m, or at once after: gc resume login",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the status does not say %q:\n%s", want, out)
		}
	}
	if asks, login, fine := strings.Index(out, "\nasks "), strings.Index(out, "\nlogin "), strings.Index(out, "\nfine "); asks < 0 || login < asks || fine < login {
		t.Errorf("the order is not: who asks, what is held back, the others:\n%s", out)
	}
}

// TestStatusSaysWhatHoldsItBack proves that a controller that neither stops nor restarts agents, and a
// warning of an agent, are lines of their own.
func TestStatusSaysWhatHoldsItBack(t *testing.T) {
	out := (Formatter{Now: noon}).Status(client.Status{
		Controller: client.Controller{Degraded: "the disk is full"},
		Agents:     []client.Agent{{Name: "guess", State: client.StateRunning, Warning: "a hook is missing"}},
	}, nil, nil)
	for _, want := range []string{"\ndegraded: gc neither stops nor restarts agents until this is fixed: the disk is full\n", "\nwarning: guess: a hook is missing\n"} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("the status does not have the line %q:\n%s", want, out)
		}
	}
}
