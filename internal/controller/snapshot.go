package controller

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/snapshot"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// publish makes everything that readers see again.
func (l *loop) publish() {
	clear(l.faded)
	targets := make([]*snapshot.Target, 0, len(l.actions))
	for _, a := range l.actions {
		if e := l.entries[session.Key{Provider: a.Provider, Session: a.Session}]; e != nil {
			targets = append(targets, l.target(e, e.action))
		}
	}
	l.c.Board.Publish(l.city(), targets)
}

// fade notes that readers see the entry as it was. That is put right soon.
func (l *loop) fade(e *entry) {
	if len(l.faded) == 0 {
		l.fadedAt = l.now()
	}
	l.faded[e] = true
}

// refresh shows what has faded, and asks for a turn if it is not time yet.
func (l *loop) refresh() {
	if len(l.faded) == 0 {
		return
	}
	if due := l.fadedAt.Add(activityLag); l.now().Before(due) {
		l.tickAt(due)
		return
	}
	for e := range l.faded {
		l.show(e)
	}
}

// show lets readers see one entry as it is now.
func (l *loop) show(e *entry) {
	delete(l.faded, e)
	if l.entries[e.rec.Key()] == e && e.action.Session != "" {
		l.c.Board.Renew(l.now(), l.target(e, e.action))
	}
}

// city is what readers see beside the sessions.
func (l *loop) city() snapshot.City {
	now := l.now()
	return snapshot.City{
		Config: l.loaded.Config, Pools: l.loaded.Desired.Pools,
		Account: explain.City{
			At: now, Frozen: l.frozen, LoadedAt: l.loadedAt, LoadError: l.loadError,
			Warnings: slices.Concat(l.loaded.Warnings, l.counts.Warnings()), Foreign: l.foreigners(),
		},
		Status: client.Status{
			City: l.loaded.Desired.City, Root: l.c.opts.Root, At: now,
			Plan: client.PlanState{LoadedAt: l.loadedAt, Error: l.loadError},
			Controller: client.Controller{
				PID: l.c.opts.PID, Version: l.c.opts.Version, StartedAt: l.startedAt, SearchPath: l.c.opts.SearchPath,
				Degraded: l.degraded(), Notices: l.c.opts.Notices, Stopping: l.ending != nil, Stuck: l.ending != nil && l.ending.stuck,
			},
		},
	}
}

// target is the entry as readers see it.
func (l *loop) target(e *entry, a plan.Action) *snapshot.Target {
	t := &snapshot.Target{
		Agent: e.agent(a), Record: e.rec, Seen: e.seen, Provider: e.place.provider, Running: e.running(), Blind: e.blindness(),
		Action: a, Judged: e.sensing.judged, Durable: e.durable(),
	}
	if e.starting() {
		t.Attempt = e.job.attempt
	}
	t.View = e.view(a, t.Blind)
	t.View.MovesTo = l.movesTo(e)
	l.askAbout(e, &a, &t.View)
	if s := l.desired[e.rec.Key()]; s != nil {
		t.Config = &s.Config
	}
	return t
}

func (l *loop) degraded() string {
	var why []string
	if l.frozen != "" {
		why = append(why, l.frozen)
	}
	for _, p := range l.places {
		if p.sight.Failures > 0 {
			why = append(why, fmt.Sprintf("provider %s: %s", p.selection, p.sight.Fault()))
		}
	}
	slices.Sort(why)
	return strings.Join(why, "; ")
}

// agent is the entry as people see it.
func (e *entry) agent(a plan.Action) client.Agent {
	if !e.running() {
		return explain.Agent(&a, &e.rec, &e.seen, e.state(a), nil)
	}
	out := explain.Agent(&a, &e.rec, &e.seen, e.state(a), &e.sensing.activity)
	if s := &e.sensing.stall; !s.reported.IsZero() {
		out.StalledSince, out.LastSign = s.reported, s.Sign
	}
	return out
}
