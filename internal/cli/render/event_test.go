package render

import (
	"strings"
	"testing"

	"gascity/client"
)

// TestCommonEventsFitOnALine proves that the events of an agent's start and stop have one line each in a terminal of 80 columns,
// and that no line is wider than that.
func TestCommonEventsFitOnALine(t *testing.T) {
	s := Formatter{Now: noon, Columns: 80}
	for kind, text := range map[string]string{
		"session.starting": "the controller is starting the session", "session.started": "the agent runs",
		"session.stopping": "the controller is stopping the session", "session.stopped": "the controller stopped the session",
		"session.relaunched": "the agent was relaunched in its session", "controller.stopping": "the city is being stopped",
	} {
		line := s.Event(client.Event{Kind: kind, Agent: "reviewer", Text: text, Time: noon})
		if strings.Count(line, "\n") != 1 || len(line) > 81 || !strings.HasSuffix(line, "  "+text+"\n") {
			t.Errorf("%s is shown as\n%s", kind, line)
		}
	}
	long := s.Event(client.Event{Kind: "prompt.unconfirmed", Agent: "reviewer-of-the-other-team", Text: "the prompt was delivered without evidence that the agent accepted it", Time: noon})
	for line := range strings.Lines(long) {
		if len(line) > 81 {
			t.Errorf("a line has %d columns:\n%s", len(line)-1, line)
		}
	}
}
