package fake_test

import (
	"errors"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

func TestCallsAreRecorded(t *testing.T) {
	p := fake.New()
	if err := p.Start(t.Context(), "a", runtime.Config{Command: "agent"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Nudge("a", runtime.TextContent("hello")); err != nil {
		t.Fatal(err)
	}
	p.IsRunning("a")
	if got := len(p.Calls()); got != 3 {
		t.Errorf("%d calls are recorded, want 3: %v", got, p.Calls())
	}
	nudges := p.Calls("Nudge")
	if len(nudges) != 1 || nudges[0].Name != "a" {
		t.Fatalf("the recorded nudges are %v, want one of a", nudges)
	}
	if content, ok := nudges[0].Args[0].([]runtime.ContentBlock); !ok || runtime.FlattenText(content) != "hello" {
		t.Errorf("the recorded content is %v, want hello", nudges[0].Args)
	}
}

func TestFailIsAboutOneMethodAndSession(t *testing.T) {
	p, broken := fake.New(), errors.New("broken")
	p.Fail("Start", "a", broken)
	if err := p.Start(t.Context(), "a", runtime.Config{}); !errors.Is(err, broken) || p.IsRunning("a") {
		t.Errorf("Start(a) = %v, want the failure and no session", err)
	}
	if err := p.Start(t.Context(), "b", runtime.Config{}); err != nil {
		t.Errorf("Start(b) = %v, want nil", err)
	}
	p.Fail("Start", "a", nil)
	if err := p.Start(t.Context(), "a", runtime.Config{}); err != nil {
		t.Errorf("Start(a) afterwards = %v, want nil", err)
	}
}

func TestExitLeavesACorpseWithOutput(t *testing.T) {
	p := fake.New()
	if err := p.Start(t.Context(), "a", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	p.Print("a", "last words")
	if !p.Exit("a", runtime.Exit{Code: 4}) || p.Exit("none", runtime.Exit{}) {
		t.Error("Exit does not report whether there was a session")
	}
	obs, err := p.Observe(t.Context(), "a")
	if err != nil || obs.Session != runtime.Alive || obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Code != 4 {
		t.Errorf("Observe = %+v, %v, want a dead session with code 4", obs, err)
	}
}

func TestAttachLastsUntilDetach(t *testing.T) {
	p, ended := fake.New(), make(chan error, 1)
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "a", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- p.Attach("a") }()
	awaitAttached(t, events, 1)
	if !p.IsAttached("a") {
		t.Error("IsAttached = false with a terminal")
	}
	p.Detach("a")
	awaitAttached(t, events, 0)
	if err := <-ended; err != nil || p.IsAttached("a") {
		t.Errorf("Attach = %v, attached = %v, want nil and false", err, p.IsAttached("a"))
	}
}

func awaitAttached(t *testing.T, events <-chan runtime.Event, count int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case e := <-events:
			if e.Kind == runtime.EventAttached && e.Attached == count {
				return
			}
		case <-deadline:
			t.Fatalf("no event of %d attached terminals", count)
		}
	}
}
