package controlapi_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/retry"
	"gascity/test/citytest"
)

const presenceSinks = `
[[notify]]
name = "away"
type = "exec"
command = "while read -r line; do :; done"
[[notify]]
name = "always"
type = "exec"
command = "while read -r line; do :; done"
while_attached = true
`

const presenceAgent = `
[[agents]]
name = "asker"
start_command = """fake_agent '{"ask":{"kind":"permission","prompt":"May I?","options":["Yes","No"]}}'"""
`

// TestPresenceHoldsNotificationsBack: while a dashboard has the focus, only a sink with while_attached gets the question. The other one
// gets it when the dashboard is gone.
func TestPresenceHoldsNotificationsBack(t *testing.T) {
	city := citytest.New(t, presenceSinks)
	c, ctx := city.Client, bounded(t)
	seeing, leave := context.WithCancel(ctx)
	defer leave()
	ended := make(chan error, 1)
	go func() { ended <- c.Present(seeing) }()
	if err := awaitPresent(ctx, c, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(city.Root, client.CityFile), []byte(presenceSinks+presenceAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if got := awaitSent(ctx, t, c, "always"); slices.ContainsFunc(got, func(n client.Notification) bool { return n.Sink == "away" }) {
		t.Errorf("a sink without while_attached got a notification while the dashboard has the focus: %+v", got)
	}
	leave()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	awaitSent(ctx, t, c, "away")
}

// awaitSent waits until a sink has confirmed a notification, and returns all notifications.
func awaitSent(ctx context.Context, t *testing.T, c *client.Client, sink string) []client.Notification {
	t.Helper()
	for delay := retry.New(time.Millisecond, 50*time.Millisecond); ; {
		list, err := c.Notifications(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(list.Notifications, func(n client.Notification) bool { return n.Sink == sink && n.State == client.NotifySent }) {
			return list.Notifications
		}
		if !delay.Wait(ctx) {
			t.Fatalf("the sink %s got nothing: %+v", sink, list)
		}
	}
}
