package controller

import (
	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// move brings the record's state to where the decision says the session is, by
// the machine's own transitions: what is unknown moves nothing.
func (l *loop) move(e *entry, to session.State) {
	moved, err := e.rec.MoveTo(to, l.now())
	if err != nil {
		l.c.opts.Logger.Warn("the lifecycle was not expected to take this way", "session", e.rec.Session, "error", err)
	}
	if moved {
		e.touch()
	}
}

// stateOf returns the state that a decision puts a session in.
func stateOf(a plan.Action) session.State {
	if a.Verb == plan.VerbStart {
		return session.StateCreating // it is due; nothing exists yet
	}
	return session.State(a.State)
}

// state returns the word that people see: the record's, as long as anything is known.
func (e *entry) state(a plan.Action) string {
	if a.State == client.StateUnknown || a.State == "" || e.rec.State == "" {
		return client.StateUnknown
	}
	return string(e.rec.State)
}
