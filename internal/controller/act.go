package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/internal/controller/reach"
	"gascity/internal/event"
	"gascity/internal/plan"
	"gascity/runtime"
)

// begin gives an entry a job. work runs outside the loop; what it returns runs
// in the loop when the job is over.
func (l *loop) begin(e *entry, kind jobKind, verb plan.Verb, limit time.Duration, work func(ctx context.Context) func()) {
	e.job = &job{kind: kind, verb: verb, overdue: l.now().Add(limit + overdueAfter)}
	e.job.cancel = l.spawn(limit, func(ctx context.Context) func() {
		fold := work(ctx)
		return func() {
			e.job = nil
			fold()
		}
	})
	l.wakeAt(e.job.overdue)
	l.viewStale = true
}

// change relaunches an agent in its warm box, or runs its live commands again.
func (l *loop) change(e *entry, s *plan.Session, a plan.Action) {
	p, began, limit := e.place.provider, l.now(), liveLimit
	launch := l.launch(s, s.Config, "")
	if a.Verb == plan.VerbRelaunch {
		cfg, ok := l.conversing(e, s)
		if !ok {
			return // it goes on with a later pass
		}
		launch.Config, limit = cfg, max(s.StartTimeout, startLimit)
	}
	launch.LiveOnly = a.Verb == plan.VerbApplyLive
	l.begin(e, jobChange, a.Verb, limit, func(ctx context.Context) func() {
		r := launch.Change(ctx, p)
		return func() { l.changed(e, s, a, began, r) }
	})
}

func (l *loop) launch(s *plan.Session, cfg runtime.Config, token string) *reach.Launch {
	return &reach.Launch{Root: l.c.opts.Root, Session: s, Config: cfg, Token: token, Secrets: l.c.opts.Secrets}
}

func (l *loop) changed(e *entry, s *plan.Session, a plan.Action, began time.Time, r reach.Changed) {
	if a.Verb == plan.VerbRelaunch && (errors.Is(r.Err, runtime.ErrRelaunchUnsupported) || errors.Is(r.Err, errors.ErrUnsupported)) {
		e.place.cold = true // the next decision is a restart
		l.unready(e)
		return
	}
	if !r.Applied {
		l.unready(e)
		e.stopFault = reach.Fault(r.Err)
		e.stopAt = l.now().Add(l.c.opts.Jitter(reach.Pause(1)))
		e.stale, e.lookAt = true, e.stopAt
		l.c.opts.Logger.Warn("cannot apply a changed configuration", "session", s.Name, "verb", a.Verb, "error", r.Err)
		return
	}
	if r.Err != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", s.Name, "error", r.Err)
	}
	e.rec.Stored = reach.Fingerprints(s)
	e.touch()
	kind, text := event.SessionLiveApplied, "live commands were run again"
	if a.Verb == plan.VerbRelaunch {
		kind, text = event.SessionRelaunched, "the agent was started again in its place"
		e.rec.Epoch++ // another process: what was meant for the former one ends here
		if r.Look.Err == nil && r.Look.Seen.InstanceToken != e.rec.Token {
			e.identify(r.Look.Seen)
		}
		e.before, e.rec.Conversation.Begun = nil, true
		e.rec.StartedAt, e.rec.Warning = began, ""
		e.clearSenses()
	}
	l.c.emit(kind, e, text, map[string]string{"fields": strings.Join(a.Fields, ",")})
	l.found(e, r.Look)
	l.sense(e)
}

// adopt takes over a session that runs already.
func (l *loop) adopt(e *entry) {
	p, name, handle := e.place.provider, e.rec.Session, e.seen.Handle
	unclaimed := e.owner == plan.OwnerUnknown
	notes := reach.Notes{City: l.c.opts.Root, Agent: e.rec.Agent, Stored: e.rec.Stored}
	l.begin(e, jobAdopt, plan.VerbAdopt, lookLimit, func(ctx context.Context) func() {
		err := runtime.Recover(ctx, p, name, handle)
		if err == nil && unclaimed {
			err = notes.Write(p, name)
		}
		return func() {
			if err != nil {
				l.found(e, reach.Finding{Err: fmt.Errorf("it cannot be adopted: %w", err)})
				return
			}
			e.known, e.owner = true, plan.OwnerUs
			e.rec.Conversation.Begun = e.rec.Conversation.ID != ""
			e.touch()
			e.rec.Running, e.rec.Exit = true, nil
			e.idleSince = l.now()
			l.c.emit(event.SessionAdopted, e, "a session that ran already was taken over",
				map[string]string{"instance": e.rec.Instance})
			l.sense(e)
		}
	})
}

// rebaseline stores the present fingerprints: what was stored is by other rules.
func (l *loop) rebaseline(e *entry) {
	s := l.desired[e.rec.Key()]
	if s == nil || e.place.provider == nil {
		return
	}
	p, n := e.place.provider, reach.Notes{City: l.c.opts.Root, Agent: s.Agent, Stored: reach.Fingerprints(s)}
	e.rec.Stored = n.Stored
	e.touch()
	l.begin(e, jobAdopt, "", lookLimit, func(context.Context) func() {
		err := n.Write(p, s.Name)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot note the present fingerprints", "session", s.Name, "error", err)
			}
		}
	})
}
