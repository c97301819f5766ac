package explain

import (
	"cmp"
	"slices"

	"gascity/client"
	"gascity/internal/domain/session"
)

// census returns the result of every session, sorted.
func census(results map[string]client.StopResult) client.Census {
	out := client.Census{Sessions: []client.StopResult{}, Clean: true}
	for _, r := range results {
		out.Sessions = append(out.Sessions, r)
		out.Clean = out.Clean && r.Error == "" && len(r.Survivors) == 0
	}
	slices.SortFunc(out.Sessions, func(a, b client.StopResult) int { return cmp.Compare(a.Session, b.Session) })
	return out
}

// Drain returns what the present instance receives about its drain.
func Drain(r *session.Record) client.Drain {
	d := r.Drain
	if !r.IsDraining() {
		return client.Drain{}
	}
	return client.Drain{Draining: true, Instance: r.Instance, Reason: d.Reason, Since: d.Since, Deadline: d.Deadline, Acked: !d.Acked.IsZero()}
}
