package controlapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/terminal/vt"
)

// TestWatchedStatusFollowsTheCity checks that the stream begins with the status, has each change once, sends nothing while
// nothing changes, and ends with an error when the controller exits.
func TestWatchedStatusFollowsTheCity(t *testing.T) {
	city := newCity(t)
	c := &client.Client{Root: city.Root, Version: "test"}
	defer c.Close()
	statuses := make(chan client.Status, 1000)
	ended := make(chan error, 1)
	go func() {
		var err error
		for status, failed := range c.WatchStatus(bounded(t)) {
			if err = failed; err == nil {
				statuses <- status
			}
		}
		ended <- err
	}()
	if s := <-statuses; len(s.Agents) != 4 {
		t.Fatalf("the first status is %+v", s)
	}
	if _, err := c.Suspend(bounded(t), "worker", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	for s := range statuses {
		if strings.Contains(stateOf(s, "worker"), client.StateSuspended) {
			break
		}
	}
	city.Leave()
	if err := <-ended; err == nil {
		t.Error("the stream ended without an error when the controller had exited")
	}
	for len(statuses) > 0 {
		<-statuses
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
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	var screen *vt.Screen
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
		if strings.Contains(strings.Join(screen.Rows(), "\n"), "fake agent") {
			if _, err := c.Suspend(ctx, "worker", client.LifecycleRequest{}); err != nil {
				t.Fatal(err)
			}
			break
		}
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
