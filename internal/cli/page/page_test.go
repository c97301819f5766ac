package page

import (
	"strings"
	"testing"
	"time"

	"gascity/client"
)

func TestProcessesAreIndentedBelowTheirParents(t *testing.T) {
	table := processTable([]client.Process{{PID: 1, Command: "a"}, {PID: 2, PPID: 1, Command: "b"}, {PID: 3, PPID: 2, Command: "c"}, {PID: 4, PPID: 9, Command: "d"}})
	var got []string
	for _, row := range table.Rows {
		got = append(got, row[2].Text)
	}
	if want := "a|└ b|  └ c|d"; strings.Join(got, "|") != want {
		t.Errorf("the tree is %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestNotesSayWhatAPersonNeeds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := Sheet{Now: now}
	tests := map[string]client.Agent{
		"":                        {Desired: "running", State: "running"},
		"wanted: absent":          {Desired: "absent", State: "running"},
		"out of memory …; exit 1": {Desired: "running", State: "failed", Reason: "out of memory\nat line 3", Exit: "exit 1"},
		"again in 5s; 3 restarts": {Desired: "running", State: "lost", NextAt: now.Add(4500 * time.Millisecond), Restarts: 3},
		"differs from its configuration: command": {Desired: "running", State: "running", Drift: []string{"command"}},
		"last seen 1m ago":                        {Desired: "running", State: "unknown", ReadAt: now.Add(-time.Minute)},
	}
	for want, agent := range tests {
		if got := s.note(agent); got != want {
			t.Errorf("the note of %+v is %q, want %q", agent, got, want)
		}
	}
}
