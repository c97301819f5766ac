package controller

import (
	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// stateOf returns the lifecycle state that the record gets by a decision.
func stateOf(a plan.Action) session.State {
	if a.Verb == plan.VerbStart {
		return session.StateCreating // the start is due; the session does not exist yet
	}
	return session.State(a.State)
}

// state returns the state that people see: the record's state, or unknown while nothing is known
// about the session.
func (e *entry) state(a plan.Action) string {
	if a.State == client.StateUnknown || a.State == "" || e.rec.State == "" {
		return client.StateUnknown
	}
	return string(e.rec.State)
}
