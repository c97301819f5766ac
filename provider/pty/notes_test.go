package pty_test

import (
	"os"
	"slices"
	"testing"

	"gascity/provider/pty"
	"gascity/runtime"
)

// An empty prompt touches nothing, so the notes of what a delivery that was cut
// off may have left must stay, too.
func TestEmptyPromptKeepsTheNotes(t *testing.T) {
	p := newNotedSession(t)
	live, err := p.Session(t.Context(), "test", "noted")
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Client.SetDrafts(t.Context(), "cut off"); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Deliver(t.Context(), "noted", runtime.Delivery{}); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("an empty prompt gives %+v, %v, want submitted", out, err)
	}
	if notes, err := live.Client.Drafts(t.Context()); err != nil || !slices.Equal(notes, []string{"cut off"}) {
		t.Errorf("the notes are %q, %v, want the one from before", notes, err)
	}
}

func newNotedSession(t *testing.T) *pty.Provider {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcn") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	p, err := pty.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "noted", runtime.Config{Command: "cat", WorkDir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop("noted"); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return p
}
