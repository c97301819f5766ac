package account

import (
	"cmp"
	"slices"

	"gascity/client"
	"gascity/internal/session"
)

// Census is what became of every session, sorted.
func Census(results map[string]client.StopResult) client.Census {
	census := client.Census{Sessions: []client.StopResult{}, Clean: true}
	for _, r := range results {
		census.Sessions = append(census.Sessions, r)
		census.Clean = census.Clean && r.Error == "" && len(r.Survivors) == 0
	}
	slices.SortFunc(census.Sessions, func(a, b client.StopResult) int { return cmp.Compare(a.Session, b.Session) })
	return census
}

// Drain is what the present incarnation is told of its drain.
func Drain(r *session.Record) client.Drain {
	d := r.Drain
	if !r.Draining() {
		return client.Drain{}
	}
	return client.Drain{Draining: true, Instance: r.Instance, Reason: d.Reason, Since: d.Since, Deadline: d.Deadline, Acked: !d.Acked.IsZero()}
}
