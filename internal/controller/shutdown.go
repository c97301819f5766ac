package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gascity/client"
)

// shutdown is the end of a city: its deadline, and the result of each session.
type shutdown struct {
	StopAfter time.Time // sessions that still run then are stopped
	AwayFrom  time.Time // what is at a place that does not answer is left from then on
	Deadline  time.Time // what has not ended by then is reported and left

	results map[string]client.StopResult
}

// newShutdown returns a shutdown without a result yet.
func newShutdown(stopAfter, awayFrom, giveUp time.Time) shutdown {
	return shutdown{stopAfter, awayFrom, giveUp, map[string]client.StopResult{}}
}

// Shift moves the deadlines after a jump of the clock.
func (e *shutdown) Shift(shift func(time.Time) time.Time) {
	e.StopAfter, e.AwayFrom, e.Deadline = shift(e.StopAfter), shift(e.AwayFrom), shift(e.Deadline)
}

// Add takes a session's end into the census.
func (e *shutdown) Add(r client.StopResult) { e.results[r.Session] = r }

// With adds processes that carry the marks of the city's agents and belong to no session. An agent
// with only such processes left was not stopped as a session.
func (e *shutdown) With(c client.Census, strays []client.StopResult, err error) client.Census {
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

// Census returns the result of each session, with what has not ended and, by provider, why
// more sessions may exist.
func (e *shutdown) Census(left []client.StopResult, uncounted map[string]string) client.Census {
	results := maps.Clone(e.results)
	for _, r := range left {
		results[r.Session] = r
	}
	for place, why := range uncounted {
		results["*"+place] = client.StopResult{Session: "*", Error: fmt.Sprintf("the sessions of %s could not be counted: %s", place, why)}
	}
	return censusOf(results)
}

// censusOf returns the result of every session, sorted.
func censusOf(results map[string]client.StopResult) client.Census {
	out := client.Census{Sessions: []client.StopResult{}, Clean: true}
	for _, r := range results {
		out.Sessions = append(out.Sessions, r)
		out.Clean = out.Clean && r.Error == "" && len(r.Survivors) == 0
	}
	slices.SortFunc(out.Sessions, func(a, b client.StopResult) int { return cmp.Compare(a.Session, b.Session) })
	return out
}
