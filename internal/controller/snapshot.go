package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/plan"
	"gascity/internal/session"
	"gascity/runtime"
)

// snapshot is what readers see: made by the loop, never changed afterwards.
type snapshot struct {
	status  client.Status
	plan    client.Plan
	config  client.Config
	targets map[string]*target // by agent and by session
}

// target is what a verb needs to reach a session.
type target struct {
	agent    client.Agent
	rec      session.Record
	seen     runtime.Observation
	provider runtime.Provider // nil if it is not open
	config   *runtime.Config  // nil if the session is not configured
	blind    string           // why nothing is known, empty otherwise
	running  bool
}

// publish makes the snapshot anew.
func (l *loop) publish() {
	now := l.now()
	l.viewStale, l.viewAt = false, now
	v := &snapshot{config: l.loaded.Config, targets: make(map[string]*target, 2*len(l.entries))}
	v.status = client.Status{
		City: l.loaded.Desired.City, Root: l.c.opts.Root, At: now, Agents: make([]client.Agent, 0, len(l.actions)),
		Plan: client.PlanState{LoadedAt: l.loadedAt, Error: l.loadError},
		Controller: client.Controller{
			PID: l.c.opts.PID, Version: l.c.opts.Version, StartedAt: l.startedAt,
			Degraded: l.degraded(), Stopping: l.ending != nil,
		},
	}
	v.plan = client.Plan{At: now, Actions: make([]client.Action, 0, len(l.actions))}
	for _, a := range l.actions {
		v.plan.Actions = append(v.plan.Actions, client.Action{
			Verb: string(a.Verb), Agent: a.Agent, Session: a.Session, Reason: a.Reason, Fields: a.Fields, After: a.After,
		})
		e := l.entries[session.Key{Provider: a.Provider, Session: a.Session}]
		if e == nil {
			continue
		}
		agent := e.agent(a)
		v.status.Agents = append(v.status.Agents, agent)
		t := &target{agent: agent, rec: e.rec, seen: e.seen, provider: e.place.provider, running: e.running()}
		if t.blind = cmp.Or(e.place.blind, e.blind); t.blind == "" && e.seen.Session == runtime.Unknown {
			t.blind = "it has not been observed yet"
		}
		if s := l.desired[e.rec.Key()]; s != nil {
			t.config = &s.Config
		}
		v.targets[a.Session] = t
		if a.Agent != "" && (v.targets[a.Agent] == nil || a.Desired != plan.DesiredAbsent) {
			v.targets[a.Agent] = t
		}
	}
	l.c.view.Store(v)
}

func (l *loop) degraded() string {
	var why []string
	for _, p := range l.places {
		if p.blinds > 0 {
			why = append(why, fmt.Sprintf("provider %s: %s", p.selection, p.blind))
		}
	}
	slices.Sort(why)
	return strings.Join(why, "; ")
}

// agent is the entry as people see it.
func (e *entry) agent(a plan.Action) client.Agent {
	out := client.Agent{
		Name: a.Agent, Session: a.Session, Provider: a.Provider,
		Desired: a.Desired, State: a.State, Reason: a.Reason, NextAt: a.After, Drift: a.Fields,
		Activity: client.Activity{State: cmp.Or(e.activity, activityUnknown), Source: e.source},
		Attached: e.seen.Attached, ActiveAt: e.seen.LastActivity, Restarts: e.rec.Restarts, ReadAt: e.seen.At,
	}
	if e.job != nil && e.job.verb != "" {
		out.State = workState(e.job.verb, out.State)
	}
	if e.running() {
		out.PID, out.StartedAt = e.seen.PID, e.rec.StartedAt
		out.Instance = session.PublicInstance(e.rec.Token)
	}
	if exit := cmp.Or(e.rec.Exit, e.seen.Exit); exit != nil {
		out.Exit = exit.String()
	}
	return out
}

// workState is the word for a session with a job that was begun after the
// decision was made.
func workState(verb plan.Verb, otherwise string) string {
	switch verb {
	case plan.VerbStart, plan.VerbRelaunch:
		return client.StateStarting
	case plan.VerbStop, plan.VerbRestart:
		return client.StateStopping
	default:
		return otherwise
	}
}
