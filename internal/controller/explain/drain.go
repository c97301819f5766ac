package explain

import (
	"gascity/client"
	"gascity/internal/domain/session"
)

// Drain returns the drain of the current instance in the form of the control API; the zero value if
// it is not draining.
func Drain(r *session.Record) client.Drain {
	d := r.Drain
	if !r.IsDraining() {
		return client.Drain{}
	}
	return client.Drain{Draining: true, Instance: r.Instance, Reason: d.Reason, Since: d.Since, Deadline: d.Deadline, Acked: !d.Acked.IsZero()}
}
