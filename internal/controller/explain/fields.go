package explain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Asked returns the ID of the question or approval p that blocks an agent; empty if p is nil.
func Asked(p *runtime.PendingInteraction) string {
	if p == nil {
		return ""
	}
	return p.RequestID
}

// Activity returns an activity in the form of the control API.
func Activity(a *session.Activity) client.Activity {
	return client.Activity{
		State: cmp.Or(string(a.State), string(runtime.ActivityUnknown)), Kind: a.Kind, Until: a.Until, Source: string(a.Source),
		Since: a.Since, Confidence: string(a.Confidence), Detail: a.Detail,
	}
}

// ActivityData returns the data of a session.activity event.
func ActivityData(a *session.Activity) map[string]string {
	data := map[string]string{"activity": string(a.State), "source": string(a.Source), "confidence": string(a.Confidence)}
	if a.Kind != "" {
		data["kind"] = a.Kind
	}
	return data
}

// LogAttrs returns the attributes with which an event is logged.
func LogAttrs(e *client.Event) []any {
	attrs := []any{"kind", e.Kind}
	if e.Session != "" {
		attrs = append(attrs, "agent", e.Agent, "session", e.Session)
	}
	for _, k := range slices.Sorted(maps.Keys(e.Data)) {
		attrs = append(attrs, k, e.Data[k])
	}
	return attrs
}

// Agent returns a session in the form of the control API. activity is nil unless the session runs.
func Agent(a *plan.Action, r *session.Record, seen *runtime.Observation, state string, activity *session.Activity) client.Agent {
	out := client.Agent{
		Name: a.Agent, Session: a.Session, Provider: a.Provider,
		Desired: a.Desired, State: state, Reason: a.Reason, NextAt: a.After, Drift: a.Fields,
		Activity: Activity(&session.Activity{}), Epoch: r.Epoch, Warning: r.Warning,
		Attached: seen.Attached, ActiveAt: seen.LastActivity, Restarts: r.Restarts, ReadAt: seen.At,
	}
	if activity != nil {
		out.PID, out.StartedAt = seen.PID, r.StartedAt
		out.Instance, out.Activity = r.Instance, Activity(activity)
	}
	if activity != nil || r.Obstacle.Kind == runtime.ObstacleLimit { // otherwise it belongs to an earlier run
		out.Obstacle = Obstacle(&r.Obstacle)
	}
	if exit := cmp.Or(r.Exit, seen.Exit); exit != nil {
		out.Exit = exit.String()
	}
	return out
}

// Plan returns the decided actions in the form of the control API.
func Plan(actions []plan.Action, now time.Time) client.Plan {
	out := client.Plan{At: now, Actions: make([]client.Action, 0, len(actions))}
	for i := range actions {
		a := &actions[i]
		out.Actions = append(out.Actions, client.Action{
			Verb: string(a.Verb), Agent: a.Agent, Session: a.Session, Reason: a.Reason, Fields: a.Fields, After: a.After,
		})
	}
	return out
}
