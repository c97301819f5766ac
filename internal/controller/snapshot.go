package controller

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/plan"
)

// publish builds and publishes the whole snapshot.
func (l *loop) publish() {
	clear(l.unpublished)
	targets := make([]*publishedSession, 0, len(l.actions))
	for _, a := range l.actions {
		if e := l.entries[a.Key()]; e != nil {
			targets = append(targets, l.target(e, e.action))
		}
	}
	l.c.published.Publish(l.city(), targets)
}

// markUnpublished records that an entry has changed and is not published yet. refresh publishes it.
func (l *loop) markUnpublished(e *entry) {
	if len(l.unpublished) == 0 {
		l.unpublishedAt = l.now()
	}
	l.unpublished[e] = true
}

// refresh publishes the changed entries if the first change is at least [activityLag] ago.
// Otherwise it requests a round of the loop at that time. So frequent changes are published
// together.
func (l *loop) refresh() {
	if len(l.unpublished) == 0 {
		return
	}
	if due := l.unpublishedAt.Add(activityLag); l.now().Before(due) {
		l.tickAt(due)
		return
	}
	for e := range l.unpublished {
		l.publishEntry(e)
	}
}

// publishEntry publishes one entry.
func (l *loop) publishEntry(e *entry) {
	delete(l.unpublished, e)
	if l.entries[e.rec.Key()] == e && e.action.Session != "" {
		l.c.published.Renew(l.now(), l.target(e, e.action))
	}
}

// city returns the part of the snapshot that is about the whole city.
func (l *loop) city() publishedCity {
	now := l.now()
	return publishedCity{
		Config: l.loaded.Config, Pools: l.loaded.Desired.Pools,
		Account: explain.City{
			At: now, Frozen: l.frozen, LoadedAt: l.loadedAt, LoadError: l.loadError,
			Warnings: slices.Concat(l.loaded.Warnings, l.counts.Warnings()), Foreign: l.listForeign(),
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

// target returns the entry in the form that is published to other goroutines. a is the decision
// about it.
func (l *loop) target(e *entry, a plan.Action) *publishedSession {
	t := &publishedSession{
		Case: explain.Case{
			Agent: e.agent(a), Action: a, Record: e.rec, Seen: e.seen, Judged: e.sensing.judged, UnknownReason: e.whyUnknown(), Durable: e.durable(),
		},
		Provider: e.backend.provider, Running: e.running(),
	}
	if e.starting() {
		t.Attempt = e.job.attempt
	}
	t.Snapshot = e.snapshot(a, t.UnknownReason)
	t.Snapshot.MovesTo = l.movesTo(e)
	l.askAbout(e, &a, &t.Snapshot)
	if s := l.desired[e.rec.Key()]; s != nil {
		t.Config = &s.Config
	}
	return t
}

// degraded returns the faults of the store and of the providers that keep the controller from doing
// everything; empty if there are none.
func (l *loop) degraded() string {
	var why []string
	if l.frozen != "" {
		why = append(why, l.frozen)
	}
	for _, p := range l.backends {
		if p.health.Failures > 0 {
			why = append(why, fmt.Sprintf("provider %s: %s", p.selection, p.health.Fault()))
		}
	}
	slices.Sort(why)
	return strings.Join(why, "; ")
}

// agent returns the entry in the form of the control API.
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
