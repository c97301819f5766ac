package cli

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// turn is a period in which an agent worked. It begins when the agent accepts a
// prompt or becomes busy. It ends when the agent reports that no turn is in progress,
// or exits. If an agent does not report its activity, a turn ends with the next prompt.
type turn struct {
	begin, end time.Time // end is zero while the turn is in progress
	busy       bool      // the agent reported busy; a later prompt then belongs to this turn
}

// turns returns the turns in the events of one session, oldest first.
func turns(events []client.Event) []turn {
	var found []turn
	for _, e := range events {
		last := &turn{end: e.Time}
		if len(found) > 0 {
			last = &found[len(found)-1]
		}
		open := last.end.IsZero()
		switch begins, busy, ends := classify(e, last.busy); {
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

// classify reports whether an event begins a turn, shows that the agent is busy, or ends a turn. wasBusy is
// whether the agent was busy in the current turn.
func classify(e client.Event, wasBusy bool) (begins, busy, ends bool) {
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
		case runtime.ActivityReady: // an agent that never reports busy may report ready during a turn
			return false, false, wasBusy
		case runtime.ActivityUnknown, runtime.ActivityWaiting:
		}
	default:
	}
	return false, false, false
}

// nthTurn returns the nth turn from the end; 1 is the last. If there is none, the error matches
// [client.ErrNotFound].
func nthTurn(name string, events []client.Event, n int) (turn, error) {
	found := turns(events)
	switch {
	case len(found) == 0:
		return turn{}, fmt.Errorf("%w: no turn of %s is recorded", client.ErrNotFound, name)
	case n > len(found):
		return turn{}, fmt.Errorf("%w: only %d turns of %s are recorded", client.ErrNotFound, len(found), name)
	}
	return found[len(found)-n], nil
}
