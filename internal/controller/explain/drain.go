package explain

import (
	"gascity/client"
	"gascity/internal/domain/session"
)

// Drain returns what the present instance receives about its drain.
func Drain(r *session.Record) client.Drain {
	d := r.Drain
	if !r.IsDraining() {
		return client.Drain{}
	}
	return client.Drain{Draining: true, Instance: r.Instance, Reason: d.Reason, Since: d.Since, Deadline: d.Deadline, Acked: !d.Acked.IsZero()}
}
