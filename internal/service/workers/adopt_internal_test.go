package workers

import (
	"testing"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/workerrun"
)

// A look that began before a start and is done during it does not take the place of the run
// of that start: what the agent says while it starts would be lost, as that it asks the guard.
func TestALateLookDoesNotTakeTheStartsPlace(t *testing.T) {
	const session, token = "s", "token"
	e := New(Options{Events: event.NewMemory(10, 0, time.Now)})
	late := newLiveRun(e, session, "agent", token) // as loadRun makes it
	started := e.registerStart(session, "agent", token)
	e.adopt(late)
	spoken, err := e.runByID(workerrun.ID(token))
	if err != nil || spoken != started {
		t.Errorf("who speaks is %p, %v, and what was started %p", spoken, err, started)
	}
	e.finishStart(started)
	if now := e.runOf(session); now != spoken {
		t.Errorf("what has the session's place is %p, and what spoke %p", now, spoken)
	}
	if e.past[started.id] {
		t.Error("the run that has just been started is past")
	}
}
