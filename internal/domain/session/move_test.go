package session

import (
	"testing"
)

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

// TestMoveToAppliesTheTriggersOfTheRoute checks that MoveTo leads to the requested state over
// allowed changes, and changes nothing if the state is the same or unknown.
func TestMoveToAppliesTheTriggersOfTheRoute(t *testing.T) {
	r := Record{State: StateStopped, StateSince: at(0)}
	if moved, err := r.MoveTo(StateRunning, at(5)); !moved || err != nil || r.State != StateRunning || !r.StateSince.Equal(at(5)) {
		t.Errorf("moved %v to %s since %v: %v", moved, r.State, r.StateSince, err)
	}
	for _, to := range []State{StateRunning, StateUnknown} {
		if moved, err := r.MoveTo(to, at(9)); moved || err != nil || r.State != StateRunning || !r.StateSince.Equal(at(5)) {
			t.Errorf("%s moved it to %s since %v: %v", to, r.State, r.StateSince, err)
		}
	}
}
