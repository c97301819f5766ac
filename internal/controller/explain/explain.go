// Package explain builds explanations of an agent: what the controller observed, what it decided,
// and why. Its functions have no side effects.
package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// City is the state of the city as a whole.
type City struct {
	At        time.Time
	Frozen    string // why the store fails; empty: it works
	LoadedAt  time.Time
	LoadError string
	Warnings  []string // of the configuration
	Foreign   []string // sessions that belong to another city
}

// Case is the state of one session.
type Case struct {
	Agent         client.Agent
	Action        plan.Action
	Record        session.Record
	Seen          runtime.Observation
	Judged        []session.Judged
	UnknownReason string // why nothing is known; empty: it is known
	Durable       bool   // the store holds the current record
}

// Explain returns an explanation without the recent events, questions and queued prompts, which the
// caller adds.
func Explain(city *City, c *Case) client.Explanation {
	out := client.Explanation{
		Agent: c.Agent, Decision: string(c.Action.Verb), Reason: c.Action.Reason,
		NextAt: c.Action.After, Next: c.next(), Exit: LastExit(c.Agent.Exit, &c.Record), Output: c.output(), LastScreen: LastScreen(&c.Record),
		Failures: c.Record.Failures, Evidence: c.evidence(), Facts: c.facts(city),
	}
	for _, warning := range append([]string{c.Record.Warning}, city.Warnings...) {
		if warning != "" {
			out.Warnings = append(out.Warnings, warning)
		}
	}
	return out
}

// output returns the last output of the last instance that stopped or whose start failed. If none
// was saved, it returns the last screen.
func (c *Case) output() string {
	if last := c.Record.Former; last != nil && last.Screen != "" {
		return last.Screen
	}
	return LastScreen(&c.Record)
}

// LastExit returns how the current instance exited, which is the text current. If current is empty,
// it returns how the previous instance exited.
func LastExit(current string, r *session.Record) string {
	if current == "" && r.Former != nil && r.Former.Exit != nil {
		return r.Former.Exit.String()
	}
	return current
}

// LastScreen returns the last screen of the current instance if it has stopped, otherwise that of
// the previous instance; empty if none was saved.
func LastScreen(r *session.Record) string {
	if r.Screen == "" && r.Former != nil {
		return r.Former.Screen
	}
	return r.Screen
}

// EndedAt returns when the current instance stopped. If no end of it was recorded, it returns the
// time of the last change of its lifecycle state.
func EndedAt(r *session.Record) time.Time {
	if r.Former != nil && r.Former.Epoch == r.Epoch {
		return r.Former.At
	}
	return r.StateSince
}

// Starting returns the data of a session.starting event.
func Starting(reason string, c *session.Conversation) map[string]string {
	data := map[string]string{"reason": reason}
	if c.ID != "" {
		data["conversation"], data["rung"] = c.ID, string(c.Rung)
	}
	return data
}

// conversation returns a description of the agent's conversation for people: its ID, how it was
// resumed, and what failed.
func conversation(c *session.Conversation) string {
	words := cmp.Or(c.ID, "unknown ID")
	if c.IsResumed() {
		words += ", resumed"
		if c.Rung == session.RungRepair {
			words += " in " + c.Dir
		}
	}
	if c.Former != nil && c.Former.Failure != "" {
		words += fmt.Sprintf(", in place of %s, which could not be resumed: %s", c.Former.ID, c.Former.Failure)
	}
	if c.Failure != "" {
		words += "; the last attempt to resume it failed: " + string(c.Failure)
	}
	if c.Closed {
		words += "; the next start begins a new conversation"
	}
	return words
}

// next returns the next action on the session as a sentence, with the condition that it waits for.
func (c *Case) next() string {
	a := &c.Action
	switch {
	case a.Verb.Acts() && !c.Durable:
		return fmt.Sprintf("%s, as soon as the store has saved the session record", a.Verb)
	case a.Verb.Acts():
		return string(a.Verb)
	case !a.After.IsZero():
		return "next decision at " + Stamp(a.After)
	case a.Verb == plan.VerbWait:
		return "gc decides again when something changes"
	}
	return "no action until something changes"
}

// evidence returns the evidence about the agent's activity in the form of the control API.
func (c *Case) evidence() []client.Evidence {
	out := make([]client.Evidence, 0, len(c.Judged))
	for i := range c.Judged {
		j := &c.Judged[i]
		detail := j.Detail
		if j.Why != "" {
			detail = strings.TrimPrefix(detail+"; "+j.Why, "; ")
		}
		out = append(out, client.Evidence{
			Source: string(j.Source), Activity: string(j.Activity), Kind: j.Kind, Until: j.Until, Detail: detail,
			Since: j.Since, ReadAt: j.At, Used: j.Used, Confidence: string(j.Confidence),
		})
	}
	return out
}

// facts returns the facts on which the lifecycle decision is based.
func (c *Case) facts(city *City) []client.Fact {
	seen, rec := &c.Seen, &c.Record
	process := seen.Agent.String()
	if seen.PID > 0 {
		process = fmt.Sprintf("%s, pid %d", seen.Agent, seen.PID)
	}
	out := []client.Fact{
		{What: "session", Value: seen.Session.String(), ReadAt: seen.At},
		{What: "agent process", Value: process, ReadAt: seen.At},
		{What: "provider", Value: rec.Provider + ": " + cmp.Or(c.UnknownReason, "it answers"), ReadAt: seen.At},
		{What: "store", Value: cmp.Or(city.Frozen, "it works"), ReadAt: city.At},
		{What: "configuration", Value: cmp.Or(city.LoadError, "active"), ReadAt: city.LoadedAt},
		{What: "lifecycle", Value: fmt.Sprintf("%s, instance %d", cmp.Or(rec.State, session.StateUnknown), rec.Epoch), ReadAt: rec.StateSince},
	}
	add := func(what, value string, at time.Time) {
		out = append(out, client.Fact{What: what, Value: value, ReadAt: at})
	}
	if rec.Hold.Kind != "" {
		add("hold", strings.TrimSuffix(string(rec.Hold.Kind)+": "+rec.Hold.Reason, ": "), rec.Hold.Since)
	}
	if rec.IsDraining() {
		add("drain", "until "+Stamp(rec.Drain.Deadline), rec.Drain.Since)
	}
	if rec.Obstacle.Kind != "" {
		add("obstacle", ObstacleText(&rec.Obstacle), rec.Obstacle.Since)
	}
	if !rec.Renew.IsZero() {
		add("restart requested", "at the end of the turn", rec.Renew)
	}
	if rec.Conversation != (session.Conversation{}) {
		add("conversation", conversation(&rec.Conversation), rec.Conversation.At)
	}
	if last := rec.Former; last != nil {
		add("last end", fmt.Sprintf("instance %d: %s", last.Epoch, last.Reason), last.At)
	}
	if rec.Fault != "" {
		var at time.Time
		if n := len(rec.Failures); n > 0 {
			at = rec.Failures[n-1]
		}
		add("last failure", rec.Fault, at)
	}
	if len(city.Foreign) > 0 {
		add("sessions of another city", strings.Join(city.Foreign, ", "), city.At)
	}
	return out
}

// Stamp returns a time in RFC 3339; empty for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
