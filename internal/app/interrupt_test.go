package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// An agent that reports by itself what it does, and reports a turn only after it has worked on it for a while.
const slowReporter = `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
[[agents]]
name = "late"
start_command = '''
trap 'echo was interrupted' INT
printf '\033]7501;status=idle\007ready> '
while :; do
	IFS= read -r line || continue
	sleep 2
	printf '\033]7501;status=busy\007'
	sleep 1
	printf '\033]7501;status=idle\007ready> '
done
'''
ready_prompt_prefix = "ready>"
`

// TestInterruptRightAfterAPrompt checks that an interrupt right after a prompt reaches the agent, even if the agent still looks
// idle. An idle agent without a prompt gets no key, because some agent CLIs exit at it.
func TestInterruptRightAfterAPrompt(t *testing.T) {
	d, root := newDaemon(t), newCity(t, slowReporter)
	r := runController(t, d, root)
	idle := func(a client.Agent) bool {
		return isRunning(a) && a.Activity.State == "idle" && a.Activity.Confidence == "certain"
	}
	r.until("late", "idle", idle)
	c := &client.Client{Root: root}
	defer c.Close()
	interrupt := func() client.Done {
		t.Helper()
		done, err := c.Interrupt(t.Context(), "late", client.LifecycleRequest{InTurn: true})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := interrupt(); done.Changed || !strings.HasSuffix(done.Detail, client.NoTurn) {
		t.Errorf("an idle agent was interrupted: %+v", done)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := c.Nudge(ctx, "late", client.NudgeRequest{Text: "begin", Wait: client.ReceiptSubmitted}); err != nil || got.State != client.ReceiptSubmitted {
		t.Fatalf("the prompt is %+v, %v", got, err)
	}
	if done := interrupt(); !done.Changed {
		t.Errorf("the interrupt behind a prompt did nothing: %+v", done)
	}
	r.until("late", "interrupted", func(client.Agent) bool {
		out, err := c.Peek(ctx, "late", 0)
		return err == nil && strings.Contains(out.Text, "was interrupted")
	})
	r.stopCity()
}
