package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatesReferenceDescribesEveryState checks that docs/reference/states.md has exactly one row for each state, in their order.
func TestStatesReferenceDescribesEveryState(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "states.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			rows = append(rows, name)
		}
	}
	if len(rows) != len(States()) {
		t.Fatalf("%d rows, want one for each of %v", len(rows), States())
	}
	for i, state := range States() {
		if !strings.HasPrefix(rows[i], string(state)+"` |") {
			t.Errorf("row %d is %q, want the state %s", i, rows[i], state)
		}
	}
}

// TestSetStateRecordsTheTimeOfAChange checks that a changed state gets a time, and that nothing changes if the state is the same
// or unknown.
func TestSetStateRecordsTheTimeOfAChange(t *testing.T) {
	r := Record{State: StateStopped, StateSince: at(0)}
	if changed := r.SetState(StateRunning, at(5)); !changed || r.State != StateRunning || !r.StateSince.Equal(at(5)) {
		t.Errorf("changed %v to %s since %v", changed, r.State, r.StateSince)
	}
	for _, to := range []State{StateRunning, StateUnknown} {
		if changed := r.SetState(to, at(9)); changed || r.State != StateRunning || !r.StateSince.Equal(at(5)) {
			t.Errorf("%s changed it to %s since %v", to, r.State, r.StateSince)
		}
	}
}

// TestDrainOfAnotherInstanceIsIgnored checks that a session does not drain if the stored drain is
// of another instance.
func TestDrainOfAnotherInstanceIsIgnored(t *testing.T) {
	for epoch, want := range map[uint64]bool{0: false, 2: false, 3: true} {
		r := Record{Epoch: 3, Drain: Drain{Epoch: epoch, Then: HoldSleep}}
		if got := r.IsDraining(); got != want {
			t.Errorf("instance 3 drains for instance %d: %v", epoch, got)
		}
	}
}
