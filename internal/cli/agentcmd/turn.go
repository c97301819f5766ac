package agentcmd

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// turn is a stretch of time in which an agent worked. It begins when the agent
// takes a prompt or becomes busy, and ends when it says that no turn is in progress
// any more, or ends itself. Of an agent that does not report what it does, a turn
// lasts until the next prompt.
type turn struct {
	begin, end time.Time // end is zero while it goes on
	busy       bool      // it was seen at work: a prompt that comes meanwhile belongs to it
}

// turns finds the turns in the events of one session, the oldest first.
func turns(events []client.Event) []turn {
	var found []turn
	for _, e := range events {
		last := &turn{end: e.Time}
		if len(found) > 0 {
			last = &found[len(found)-1]
		}
		open := last.end.IsZero()
		switch begins, busy, ends := edge(e, last.busy); {
		case busy && open:
			last.busy = true
		case begins && open && last.busy:
		case begins || busy:
			if open {
				last.end = e.Time
			}
			found = append(found, turn{begin: e.Time, busy: busy})
		case ends && open:
			last.end = e.Time
		}
	}
	return found
}

// edge says what an event means for the turn of an agent.
func edge(e client.Event, wasBusy bool) (begins, busy, ends bool) {
	switch event.Kind(e.Kind) {
	case event.PromptSubmitted:
		return true, false, false
	case event.SessionExited, event.SessionLost, event.SessionStopped:
		return false, false, true
	case event.SessionActivity:
		switch runtime.Activity(e.Data["activity"]) {
		case runtime.ActivityBusy:
			return false, true, false
		case runtime.ActivityIdle, runtime.ActivityBackground, runtime.ActivityLimited:
			return false, false, true
		case runtime.ActivityReady: // it proves nothing of an agent that reports no more than that
			return false, false, wasBusy
		case runtime.ActivityUnknown, runtime.ActivityWaiting:
		}
	default:
	}
	return false, false, false
}

// nthTurn returns the nth turn from the end; one is the last.
func nthTurn(name string, events []client.Event, n int) (turn, error) {
	found := turns(events)
	switch {
	case len(found) == 0:
		return turn{}, fmt.Errorf("%w: no turn of %s is remembered", client.ErrNotFound, name)
	case n > len(found):
		return turn{}, fmt.Errorf("%w: no more than %d turns of %s are remembered", client.ErrNotFound, len(found), name)
	}
	return found[len(found)-n], nil
}
