package controlapi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/worker"
)

// TestWatchedStatusFollowsTheCity checks that the stream begins with the status, has each change once, sends nothing while
// nothing changes, and ends with an error when the controller exits.
func TestWatchedStatusFollowsTheCity(t *testing.T) {
	city := newCity(t)
	c := &client.Client{Root: city.Root, Version: "test"}
	defer c.Close()
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	statuses, ended := make(chan client.Status), make(chan error, 1)
	go func() {
		defer close(statuses)
		for status, err := range c.WatchStatus(ctx) {
			if err != nil {
				ended <- err
				return
			}
			statuses <- status // the test reads until the channel is closed
		}
	}()
	defer func() {
		cancel()
		for range statuses { // the goroutine ends
		}
	}()
	if s, open := <-statuses; !open || len(s.Agents) != 4 {
		t.Fatalf("the first status is %+v", s)
	}
	if _, err := c.Suspend(bounded(t), "worker", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	state := ""
	for s := range statuses {
		if state = stateOf(s, "worker"); state == client.StateSuspended {
			break
		}
	}
	if state != client.StateSuspended {
		t.Fatalf("the stream ended before it has the change; the last state is %q", state)
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		for range statuses { // changes until the exit
		}
	}()
	city.Leave()
	<-left
	select {
	case err := <-ended:
		t.Logf("the stream ended: %v", err)
	default:
		t.Error("the stream ended without an error when the controller had exited")
	}
}

func stateOf(s client.Status, agent string) string {
	for _, a := range s.Agents {
		if a.Name == agent {
			return a.State
		}
	}
	return ""
}

// TestWatchedScreenShowsWhatPeekReads: a terminal that is fed with the stream shows the agent's screen, and the stream ends without
// an error when the agent has stopped. An agent that does not run is refused, and one that does not exist is not found.
func TestWatchedScreenShowsWhatPeekReads(t *testing.T) {
	city := newCity(t)
	c := &client.Client{Root: city.Root, Version: "test"}
	defer c.Close()
	ctx := bounded(t)
	var screen *vt.Screen
	stopped := false
	for s, err := range c.WatchScreen(ctx, "worker") {
		if err != nil {
			t.Fatal(err)
		}
		if s.Cols > 0 {
			screen = vt.New(s.Cols, s.Rows, &vt.Options{Scrollback: -1})
		}
		if _, err := screen.Write([]byte(s.Output)); err != nil {
			t.Fatal(err)
		}
		if !stopped && strings.Contains(strings.Join(screen.Rows(), "\n"), "fake agent") {
			if _, err := c.Suspend(ctx, "worker", client.LifecycleRequest{}); err != nil {
				t.Fatal(err)
			}
			stopped = true
		}
	}
	if err := ctx.Err(); err != nil || !stopped {
		t.Fatalf("the stream did not show the agent and end with it: stopped %v, %v", stopped, err)
	}
	city.Await("worker", func(a client.Agent) bool { return a.State == client.StateSuspended })
	for target, want := range map[string]error{"worker": client.ErrRefused, "nobody": client.ErrNotFound} {
		for _, err := range c.WatchScreen(ctx, target) {
			if !errors.Is(err, want) {
				t.Errorf("the screen of %s, which does not run: %v; want %v", target, err, want)
			}
		}
	}
}

// TestAConversationWithoutATranscriptFollowsEvents: prompts and reports of the agent's worker are in the stream soon after they are made.
func TestAConversationWithoutATranscriptFollowsEvents(t *testing.T) {
	city := newCity(t)
	w := city.Worker("worker")
	step := 0
	ctx := bounded(t)
	for c, err := range city.Client.FollowConversation(ctx, "worker", client.ConversationQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		has := func(is func(e client.ConversationEntry) bool) bool { return slices.ContainsFunc(c.Entries, is) }
		switch {
		case step == 0:
			report := worker.TelemetryEvent{Type: worker.ToolUsed, Timestamp: time.Now(), Message: "ls -la", ToolsCalled: []worker.ToolCall{{Name: "Bash", Success: true}}}
			if _, err := w.Telemetry(ctx, report); err != nil {
				t.Fatal(err)
			}
		case step == 1 && has(func(e client.ConversationEntry) bool { return e.Tool != nil && e.Tool.Argument == "ls -la" }):
			if _, err := city.Client.Nudge(ctx, "worker", client.NudgeRequest{Text: "the first prompt"}); err != nil {
				t.Fatal(err)
			}
		case step == 2 && has(func(e client.ConversationEntry) bool {
			return e.Text == "the first prompt" && e.State == client.ReceiptConsumed
		}):
			return
		default:
			continue
		}
		step++
	}
	t.Errorf("the stream ended after step %d: %v", step, ctx.Err())
}
