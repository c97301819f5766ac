package ops

import (
	"cmp"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// EndOf returns the kind of event and a description for people of how an instance stopped that
// neither gc nor a person stopped. cause is what the provider reported about a session that
// disappeared.
func EndOf(r *session.Record, cause string) (event.Kind, string) {
	switch exit := r.Exit; {
	case exit != nil:
		fault := "the agent " + exit.String()
		if words := LastOutput(r.Screen); words != "" && exit.Code != 0 && exit.Signal == "" {
			fault += ", saying: " + words
		}
		return event.SessionExited, fault
	case !r.Lost:
		return event.SessionExited, "the agent exited; its exit status is unknown"
	}
	return event.SessionLost, cmp.Or(cause, "the session disappeared for an unknown reason")
}
