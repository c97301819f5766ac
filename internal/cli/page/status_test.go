package page

import (
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
