package explain

import (
	"maps"
	"strconv"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// InstanceData returns the data of an event, extended by the instance that the event is about: its
// run ID and, if it has stopped, when it began and how it exited. It returns data unchanged if the
// event is about no instance. It never modifies data.
func InstanceData(kind event.Kind, r *session.Record, data map[string]string) map[string]string {
	over := kind == event.SessionExited || kind == event.SessionLost || kind == event.SessionStopped
	begins := kind == event.SessionStarted || kind == event.SessionAdopted
	during := r.Running && kind != event.SessionStarting
	if r.Token == "" || !over && !begins && !during {
		return data
	}
	out := map[string]string{"run": session.RunID(r.Token)}
	if over && !r.StartedAt.IsZero() {
		out["since"] = r.StartedAt.Format(time.RFC3339Nano)
	}
	if exit := r.Exit; kind == event.SessionExited && exit != nil {
		out["code"] = strconv.Itoa(exit.Code)
		if exit.Signal != "" {
			out["signal"] = exit.Signal
		}
	}
	maps.Copy(out, data)
	return out
}
