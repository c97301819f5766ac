package controller

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/controller/account"
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
	order   []*target          // each once

	city account.City
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
	view     session.View
	action   plan.Action
	judged   []session.Judged
	durable  bool
}

// publish makes the snapshot anew.
func (l *loop) publish() {
	l.viewStale, l.viewAt = false, l.now()
	before, v := l.c.view.Load(), l.snapshot()
	l.c.view.Store(v)
	l.tellChanges(before, v)
}

func (l *loop) snapshot() *snapshot {
	now := l.now()
	v := &snapshot{
		config: l.loaded.Config,
		city: account.City{
			At: now, Frozen: l.frozen, LoadedAt: l.loadedAt, LoadError: l.loadError,
			Warnings: slices.Concat(l.loaded.Warnings, l.counts.Warnings()), Foreign: l.foreigners(),
		},
		targets: make(map[string]*target, 2*len(l.entries)),
	}
	v.status = client.Status{
		City: l.loaded.Desired.City, Root: l.c.opts.Root, At: now, Agents: make([]client.Agent, 0, len(l.actions)),
		Plan: client.PlanState{LoadedAt: l.loadedAt, Error: l.loadError},
		Controller: client.Controller{
			PID: l.c.opts.PID, Version: l.c.opts.Version, StartedAt: l.startedAt,
			Degraded: l.degraded(), Stopping: l.ending != nil,
		},
	}
	v.plan = account.Plan(l.actions, now)
	for _, a := range l.actions {
		e := l.entries[session.Key{Provider: a.Provider, Session: a.Session}]
		if e == nil {
			continue
		}
		agent := e.agent(a)
		v.status.Agents = append(v.status.Agents, agent)
		t := &target{
			agent: agent, rec: e.rec, seen: e.seen, provider: e.place.provider, running: e.running(), blind: e.blindness(),
			action: a, judged: e.sensing.judged, durable: e.durable(),
		}
		t.view = e.view(a, t.blind)
		v.order = append(v.order, t)
		if s := l.desired[e.rec.Key()]; s != nil {
			t.config = &s.Config
		}
		v.targets[a.Session] = t
		if a.Agent != "" && (v.targets[a.Agent] == nil || a.Desired != plan.DesiredAbsent) {
			v.targets[a.Agent] = t
		}
	}
	return v
}

func (l *loop) degraded() string {
	var why []string
	if l.frozen != "" {
		why = append(why, l.frozen)
	}
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
	if !e.running() {
		return account.Agent(&a, &e.rec, &e.seen, e.state(a), nil)
	}
	return account.Agent(&a, &e.rec, &e.seen, e.state(a), &e.sensing.activity)
}
