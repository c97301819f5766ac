package pty_test

import (
	"errors"
	"os"
	"testing"

	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/provider/pty"
	"gascity/runtime"
)

// An empty prompt sends nothing, so the records of an earlier interrupted delivery must stay.
func TestEmptyPromptKeepsTheNotes(t *testing.T) {
	p := newNotedSession(t)
	live, err := p.Session(t.Context(), "test", "noted")
	if err != nil {
		t.Fatal(err)
	}
	entry := func(act func(*shim.Lease) error) *inject.DeliveryEntry {
		l, err := live.Client.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		j, err := l.Account(t.Context(), "")
		if err = errors.Join(err, act(l)); err != nil {
			t.Fatal(err)
		}
		return j.Last
	}
	entry(func(l *shim.Lease) error { return l.Begin(t.Context(), "id", "cut off", nil) })
	if out, err := p.Deliver(t.Context(), "noted", runtime.Delivery{}); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("an empty prompt gives %+v, %v, want submitted", out, err)
	}
	if e := entry(func(*shim.Lease) error { return nil }); e == nil || !e.Open || string(e.Text) != "cut off" {
		t.Errorf("the journal says %+v, want what was there before", e)
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
