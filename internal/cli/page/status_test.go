package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gascity/client"
)

// Where an agent runs is told where that differs.
func TestStatusTellsPlaces(t *testing.T) {
	agents := []client.Agent{{Name: "a", State: client.StateRunning, Provider: "pty"}, {Name: "b", State: client.StateRunning, Provider: "pty"}}
	if out := (Sheet{Now: noon}).Status(client.Status{Agents: agents}); strings.Contains(out, "pty") || strings.Contains(out, "PLACE") {
		t.Errorf("a city of one place shows it:\n%s", out)
	}
	agents[1].Provider = "exec:./box"
	out := (Sheet{Now: noon}).Status(client.Status{Agents: agents})
	for _, want := range []string{"PLACE", "pty", "exec:./box"} {
		if !strings.Contains(out, want) {
			t.Errorf("a city of two places does not show %q:\n%s", want, out)
		}
	}
}

// An agent that moves is one row, that of where it is: it says where it goes.
func TestAnAgentThatMovesIsOneRow(t *testing.T) {
	agents := []client.Agent{
		{Name: "a", State: client.StateStopped, Provider: "tmux", Reason: "its former session must end first"},
		{Name: "a", State: client.StateRunning, Provider: "pty", PID: 7, Reason: "it moves to tmux; deferred while the agent is busy"},
		{Name: "b", State: client.StateStopped, Provider: "pty", Reason: "b is suspended"},
	}
	out := (Sheet{Now: noon}).Status(client.Status{Agents: agents})
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
	out := Sheet{Now: noon, Columns: 80, Rows: 24}.Status(client.Status{Agents: agents})
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
	out := Sheet{Now: noon}.Status(client.Status{Agents: agents})
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
