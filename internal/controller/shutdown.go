package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gascity/client"
)

// With returns a copy of the census c that includes strays: processes that carry the marks of the
// city's agents and belong to no session. The census is clean only if no stray survived and err,
// the error of the search, is nil.
func (e *ending) With(c client.Census, strays []client.StopResult, err error) client.Census {
	c.Sessions = slices.Clone(c.Sessions)
	for _, s := range strays {
		at := slices.IndexFunc(c.Sessions, func(r client.StopResult) bool { return r.Session == s.Session })
		if at < 0 {
			c.Sessions = append(c.Sessions, s)
		} else {
			c.Sessions[at].Processes += s.Processes
			c.Sessions[at].Uncounted = false
			c.Sessions[at].Survivors = append(slices.Clone(c.Sessions[at].Survivors), s.Survivors...)
		}
		c.Clean = c.Clean && len(s.Survivors) == 0
	}
	if err != nil {
		c.Sessions = append(c.Sessions, client.StopResult{Session: "*", Error: err.Error()})
		c.Clean = false
	}
	return c
}

// Census returns the result of the stop: the sessions that were stopped, those that are still
// running (left), and one row for each provider whose sessions could not be listed (uncounted maps
// the provider to the reason), sorted by session. It is clean if no result has an error or a
// surviving process.
func (e *ending) Census(left []client.StopResult, uncounted map[string]string) client.Census {
	results := maps.Clone(e.results)
	for _, r := range left {
		results[r.Session] = r
	}
	for place, why := range uncounted {
		results["*"+place] = client.StopResult{Session: "*", Error: fmt.Sprintf("gc could not list the sessions of %s, so some may still run: %s", place, why)}
	}
	out := client.Census{Sessions: []client.StopResult{}, Clean: true}
	for _, r := range results {
		out.Sessions = append(out.Sessions, r)
		out.Clean = out.Clean && r.Error == "" && len(r.Survivors) == 0
	}
	slices.SortFunc(out.Sessions, func(a, b client.StopResult) int { return cmp.Compare(a.Session, b.Session) })
	return out
}
