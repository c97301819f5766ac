package shim

import (
	"errors"
	"os"
	"testing"

	"gascity/internal/proc"
)

// TestASuccessorTakesNothingMeantForTheFormer replaces the agent by another
// instance while a delivery has the input: the previous client, and its lease,
// reach nothing; every look finds the new one.
func TestASuccessorTakesNothingMeantForTheFormer(t *testing.T) {
	f := testFleet(t)
	first := spec("warm", "echo first; cat")
	first.Env = append(first.Env, "KEY=of the previous one", "FORMER=x")
	c := start(t, f, first)
	frameWith(t, c, "first")
	if err := c.SetMeta(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	lease, err := c.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	if err := lease.Begin(t.Context(), "p-1", "for the previous one", nil); err != nil {
		t.Fatal(err)
	}
	next := Successor{Instance: "token-of-the-next", Env: append(os.Environ(), "GC_RUNTIME_EPOCH=2", "KEY=of the next", proc.TokenKey+"=forged"), Labels: map[string]string{"family": "other"}}
	argv := []string{"/bin/sh", "-c", "echo second $" + proc.TokenKey + " $GC_RUNTIME_EPOCH $KEY$FORMER; cat"}
	if err := c.StartSuccessor(t.Context(), argv, 0, next); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"input":   c.Send(t.Context(), []byte("for the previous\n")),
		"keys":    c.Keys(t.Context(), []string{"Enter"}),
		"a lease": lease.Send(t.Context(), []byte("for the previous\n")),
		"a note":  c.SetMeta(t.Context(), "k", "other"),
	} {
		if !errors.Is(err, ErrStale) {
			t.Errorf("%s by the previous name: %v, want %v", what, err, ErrStale)
		}
	}
	sight, err := f.Observe(t.Context(), "warm")
	if err != nil || sight.Token != next.Instance || sight.Client == nil {
		t.Fatalf("a look finds %+v, %v", sight, err)
	}
	frameWith(t, sight.Client, "second token-of-the-next 2 of the next")
	if sight.Record.Labels["family"] != "other" {
		t.Errorf("its record is %+v", sight.Record)
	}
	if v, _, err := sight.Client.Meta(t.Context(), "k"); err != nil || v != "v" {
		t.Errorf("the note is %q, %v", v, err)
	}
	if text, err := sight.Client.Text(t.Context(), 1); err != nil || text != "second token-of-the-next 2 of the next" {
		t.Errorf("the agent's last line is %q, %v", text, err)
	}
	former := "token-of-warm"
	if _, err := f.Stop(t.Context(), "warm", &former, 0); !errors.Is(err, ErrStale) {
		t.Errorf("a stop by the previous name: %v", err)
	}
	if _, err := f.Stop(t.Context(), "warm", &next.Instance, 0); err != nil {
		t.Errorf("a stop by its own name: %v", err)
	}
}
