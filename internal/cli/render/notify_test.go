package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// TestNotificationsFitTheTerminal: two sinks and 12 notifications, with some that failed, fit a terminal of 80x24, and each that failed
// has the command that sends it again.
func TestNotificationsFitTheTerminal(t *testing.T) {
	list := client.Notifications{Sinks: []client.NotifySink{
		{Name: "desk", Type: "desktop"},
		{Name: "phone", Type: "ntfy", Waiting: 1, Error: "the service answered 503 Service Unavailable", Retry: noon.Add(2 * time.Minute)},
	}}
	for i := range 12 {
		n := client.Notification{
			ID: fmt.Sprintf("n-%016d", i), Sink: "desk", State: client.NotifySent, Kind: "permission", Agent: fmt.Sprintf("coder-%d", i%4), Tries: 1,
			Text: fmt.Sprintf("coder-%d asks: May I run make deploy in the production cluster, with all its consequences?", i%4), Created: noon.Add(-time.Duration(i*i) * time.Minute),
		}
		switch {
		case i%6 == 1:
			n.Sink, n.State, n.Error = "phone", client.NotifyFailed, "the service answered 401 Unauthorized"
		case i == 3:
			n.Sink, n.State, n.Tries, n.Error = "phone", client.NotifySending, 4, "the service answered 503"
		case i == 5:
			n.State, n.Error = client.NotifyDropped, "the agent does not need a person any more"
		}
		list.Notifications = append(list.Notifications, n)
	}
	got := Formatter{Now: noon, Columns: 80}.Notifications(list)
	if rows := strings.Count(got, "\n"); rows > 24 {
		t.Errorf("it has %d rows:\n%s", rows, got)
	}
	for line := range strings.Lines(got) {
		if textfmt.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("a line is too long: %s", line)
		}
	}
	for _, id := range []string{"n-0000000000000001", "n-0000000000000007"} {
		if !strings.Contains(unwrapped(got), "gc notify retry "+id) {
			t.Errorf("no command for %s:\n%s", id, got)
		}
	}
}
