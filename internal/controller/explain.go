package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/plan"
	"gascity/internal/session"
)

const (
	recentEvents = 20
	recentSince  = 7 * 24 * time.Hour
)

// Explain returns what is known of one agent, what is intended and why. What
// waits for it, questions and prompts, is added by those who keep it.
func (c *Controller) Explain(_ context.Context, name string) (client.Explanation, error) {
	v := c.view.Load()
	t, err := c.target(name)
	if err != nil {
		return client.Explanation{}, err
	}
	out := client.Explanation{
		Agent: t.agent, Decision: string(t.action.Verb), Reason: t.action.Reason,
		NextAt: t.action.After, Next: next(t), Exit: t.agent.Exit, LastScreen: t.rec.Screen,
		Failures: t.rec.Failures, Evidence: evidence(t.judged), Facts: facts(v, t),
	}
	out.Output = t.output()
	for _, warning := range append([]string{t.rec.Warning}, v.warnings...) {
		if warning != "" {
			out.Warnings = append(out.Warnings, warning)
		}
	}
	out.Recent, err = c.recent(t.rec.Session, v.status.At)
	return out, err
}

// output is what the agent said last: what its end or its failed start left.
func (t *target) output() string {
	if t.rec.Fault != "" && strings.Contains(t.rec.Fault, "\n") {
		return t.rec.Fault
	}
	return t.rec.Screen
}

// next says what happens next, and what has to happen for it.
func next(t *target) string {
	a := &t.action
	switch {
	case a.Verb.Acts() && !t.durable:
		return fmt.Sprintf("%s, once the store has what it needs to remember of it", a.Verb)
	case a.Verb.Acts():
		return string(a.Verb)
	case !a.After.IsZero():
		return "it is judged again at " + stamp(a.After)
	case a.Verb == plan.VerbWait:
		return "it is judged again when something changes"
	}
	return "nothing, as long as nothing changes"
}

func evidence(judged []session.Judged) []client.Evidence {
	out := make([]client.Evidence, 0, len(judged))
	for i := range judged {
		j := &judged[i]
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

// facts are what the lifecycle rests on.
func facts(v *snapshot, t *target) []client.Fact {
	seen, rec := &t.seen, &t.rec
	out := []client.Fact{
		{What: "session", Value: seen.Session.String(), ReadAt: seen.At},
		{What: "agent process", Value: agentProcess(t), ReadAt: seen.At},
		{What: "provider", Value: rec.Provider + ": " + orWords(t.blind, "it answers"), ReadAt: seen.At},
		{What: "store", Value: orWords(v.frozen, "it works"), ReadAt: v.status.At},
		{What: "configuration", Value: orWords(v.status.Plan.Error, "in force"), ReadAt: v.status.Plan.LoadedAt},
		{What: "lifecycle", Value: fmt.Sprintf("%s, incarnation %d", orWords(string(rec.State), "unknown"), rec.Epoch), ReadAt: rec.StateSince},
	}
	add := func(what, value string, at time.Time) {
		out = append(out, client.Fact{What: what, Value: value, ReadAt: at})
	}
	if rec.Hold.Kind != "" {
		add("hold", strings.TrimSuffix(string(rec.Hold.Kind)+": "+rec.Hold.Reason, ": "), rec.Hold.Since)
	}
	if rec.Drain.Epoch != 0 && rec.Drain.Epoch == rec.Epoch {
		add("drain", "until "+stamp(rec.Drain.Deadline), rec.Drain.Since)
	}
	if !rec.Limited.Since.IsZero() {
		add("limit", "until "+orWords(stamp(rec.Limited.Until), "nobody knows when"), rec.Limited.Since)
	}
	if !rec.Renew.IsZero() {
		add("restart asked for", "at the end of the turn", rec.Renew)
	}
	if rec.Fault != "" {
		add("last failure", rec.Fault, lastOf(rec.Failures))
	}
	if len(v.foreign) > 0 {
		add("not this city's", strings.Join(v.foreign, ", "), v.status.At)
	}
	return out
}

func agentProcess(t *target) string {
	if t.seen.PID > 0 {
		return fmt.Sprintf("%s, pid %d", t.seen.Agent, t.seen.PID)
	}
	return t.seen.Agent.String()
}

func orWords(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func lastOf(times []time.Time) time.Time {
	if len(times) == 0 {
		return time.Time{}
	}
	return times[len(times)-1]
}

// recent returns the last events of a session, oldest first.
func (c *Controller) recent(name string, now time.Time) ([]client.Event, error) {
	id, err := c.opts.Events.Since(now.Add(-recentSince))
	if err != nil {
		return nil, err
	}
	events, _, err := c.opts.Events.After(id)
	if err != nil {
		return nil, err
	}
	var out []client.Event
	for i := len(events) - 1; i >= 0 && len(out) < recentEvents; i-- {
		if events[i].Session == name {
			out = append(out, events[i])
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}
