package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
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
	l.markUnpublished(e)
}

// change relaunches an agent in its warm box, or runs its live commands again.
func (l *loop) change(e *entry, s *plan.Session, a plan.Action) {
	e.apply = false
	p, began, limit := e.backend.provider, l.now(), liveLimit
	launch := l.launch(s, s.Config)
	launch.LiveOnly = a.Verb == plan.VerbApplyLive
	if a.Verb == plan.VerbRelaunch {
		cfg, ok := l.conversing(e, s)
		if !ok {
			return // it goes on with a later pass
		}
		launch.Config, limit = cfg, max(s.StartTimeout, startLimit)
		launch.Token, launch.Epoch = l.c.opts.NewToken(), e.rec.Epoch+1
	}
	l.begin(e, jobChange, a.Verb, limit, func(ctx context.Context) func() {
		r := launch.Change(ctx, p)
		return func() { l.changed(e, s, a, began, r) }
	})
}

func (l *loop) launch(s *plan.Session, cfg runtime.Config) *ops.Launch {
	return &ops.Launch{Root: l.c.opts.Root, Session: s, Config: cfg, Secrets: l.c.opts.Secrets, FindProgram: l.c.opts.FindProgram}
}

func (l *loop) changed(e *entry, s *plan.Session, a plan.Action, began time.Time, r ops.Changed) {
	if a.Verb == plan.VerbRelaunch && (errors.Is(r.Err, runtime.ErrRelaunchUnsupported) || errors.Is(r.Err, errors.ErrUnsupported)) {
		e.backend.cold = true // the next decision is a restart
		l.unready(e)
		return
	}
	if !r.Applied && r.Renewed {
		l.relaunchFailed(e, began, r)
		return
	}
	if !r.Applied {
		l.unready(e)
		e.stopFault = ops.Fault(r.Err)
		e.stopAt = l.now().Add(l.c.opts.Jitter(ops.Pause(1)))
		e.stale, e.observeAt = true, e.stopAt
		l.c.opts.Logger.Warn("cannot apply a changed configuration", "session", s.Name, "verb", a.Verb, "error", r.Err)
		return
	}
	if r.Err != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", s.Name, "error", r.Err)
	}
	e.rec.Stored = ops.Fingerprints(s)
	e.touch()
	if a.Verb == plan.VerbRelaunch {
		e.hints = hintsOf(s)
	}
	kind, text := event.SessionLiveApplied, "live commands were run again"
	if a.Verb == plan.VerbRelaunch {
		kind, text = event.SessionRelaunched, "the agent was started again in its place"
		if !r.Renewed {
			l.c.opts.Logger.Warn("a relaunch left the instance its name; agents there are restarted from now on", "provider", e.rec.Provider)
			e.backend.cold = true
		}
		l.renew(e, began, r)
	}
	l.c.emit(kind, e, text, map[string]string{"fields": strings.Join(a.Fields, ",")})
	l.found(e, r.Finding)
	l.sense(e)
}

// renew records that another process runs in the place of the previous one: what was
// meant for that ends here.
func (l *loop) renew(e *entry, began time.Time, r ops.Changed) {
	e.touch()
	e.rec.Epoch++
	if r.Finding.Err == nil && r.Finding.Seen.InstanceToken != e.rec.Token {
		e.identify(r.Finding.Seen)
	}
	e.before, e.rec.Conversation.Begun = nil, true
	e.rec.StartedAt, e.rec.Warning = began, ""
	e.clearSenses()
}

// relaunchFailed records that the agent was replaced and that its start did not come
// to its end. It is ended and started again, like one whose start was cut off. One
// that has ended is found so.
func (l *loop) relaunchFailed(e *entry, began time.Time, r ops.Changed) {
	l.renew(e, began, r)
	if r.Finding.Seen.Agent != runtime.Dead {
		e.cut, e.known, e.rec.Start = true, false, session.StartCut
		fault := ops.Fault(r.Err)
		if r.Missing != nil {
			fault = r.Missing.Error()
		}
		l.fail(e, fault)
		l.c.emit(event.SessionStartFailed, e, "the agent was replaced, and its start failed: "+ops.FirstLine(e.rec.Fault),
			map[string]string{"error": e.rec.Fault, "next": explain.Stamp(e.rec.NextAt)})
	}
	l.found(e, r.Finding)
	l.sense(e)
}

// adopt takes over a session that runs already. What a start does that was cut off
// and can be done again is done again.
func (l *loop) adopt(e *entry, s *plan.Session) {
	p, name, handle, limit := e.backend.provider, e.rec.Session, e.seen.Handle, observeLimit
	notes := ops.Metadata{City: l.c.opts.Root, Agent: e.rec.Agent, Stored: e.rec.Stored, Epoch: e.rec.Epoch, Started: e.rec.Instance}
	undone := e.action.StartInterrupted
	noted := e.owner != plan.OwnerUnknown && !e.cut && e.notedEpoch == e.rec.Epoch
	var live *plan.Session
	if e.cut && s != nil && len(s.Config.SessionLive) > 0 {
		live, notes.Stored.Live, limit = s, s.Live, observeLimit+liveLimit
	}
	l.begin(e, jobAdopt, plan.VerbAdopt, limit, func(ctx context.Context) func() {
		err := runtime.Recover(ctx, p, name, handle)
		var liveErr error
		if err == nil && live != nil {
			liveErr = p.RunLive(name, live.Config)
		}
		if err == nil && !noted {
			err = notes.Write(p, name)
		}
		return func() {
			if err == nil && undone {
				e.rec.Warning = "start: cut off by the end of the controller; it is unknown how much of its set-up and first prompt was done"
			}
			l.adopted(e, notes.Stored, err, liveErr)
		}
	})
}

func (l *loop) adopted(e *entry, stored session.Fingerprints, err, liveErr error) {
	if err != nil {
		l.found(e, ops.Finding{Err: fmt.Errorf("it cannot be adopted: %w", err)})
		return
	}
	if liveErr != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", e.rec.Session, "error", liveErr)
	}
	e.known, e.owner, e.hints = true, plan.OwnerThisCity, ""
	e.cut, e.rec.Start, e.rec.Stored, e.notedEpoch = false, session.StartDone, stored, e.rec.Epoch
	e.rec.Conversation.Begun = e.rec.Conversation.ID != ""
	e.touch()
	e.rec.Running, e.rec.Exit = true, nil
	if e.blocked { // the session that the start ran into is this one
		e.blocked, e.rec.Fault, e.rec.NextAt = false, "", time.Time{}
	}
	e.idleSince = l.now()
	l.c.emit(event.SessionAdopted, e, "a session that ran already was taken over", map[string]string{"instance": e.rec.Instance})
	l.sense(e)
}

// rebaseline stores the present fingerprints: what was stored is by other rules.
func (l *loop) rebaseline(e *entry) {
	s := l.desired[e.rec.Key()]
	if s == nil || e.backend.provider == nil {
		return
	}
	p, n := e.backend.provider, ops.Metadata{City: l.c.opts.Root, Agent: s.Agent, Stored: ops.Fingerprints(s)}
	e.rec.Stored = n.Stored
	e.touch()
	l.begin(e, jobAdopt, "", observeLimit, func(context.Context) func() {
		err := n.Write(p, s.Name)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot note the present fingerprints", "session", s.Name, "error", err)
			}
		}
	})
}
