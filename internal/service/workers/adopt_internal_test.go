package workers

import (
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/test/storetest"
)

// An observation that began before a start and completes during it does not replace the run of that start.
// Otherwise reports of the starting agent would be lost, for example that it asks the guard.
func TestLateObservationDoesNotReplaceTheRunOfAStart(t *testing.T) {
	const name, token = "s", "token"
	e := New(Options{Events: storetest.NewEvents(10, 0, time.Now), Hide: func(string) {}, Now: time.Now})
	late := newLiveRun(e, name, "agent", token) // as loadRun makes it
	started := e.registerStart(name, "agent", token)
	e.adopt(late)
	spoken, err := e.runByID(session.RunID(token))
	if err != nil || spoken != started {
		t.Errorf("who speaks is %p, %v, and what was started %p", spoken, err, started)
	}
	e.finishStart(started)
	if now := e.runOf(name); now != spoken {
		t.Errorf("the run of the session is %p, want the one that reported, %p", now, spoken)
	}
	if e.past[started.id] {
		t.Error("the run that has just been started is past")
	}
}
