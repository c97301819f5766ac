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

// begin starts a job on an entry. work runs in its own goroutine, with the time limit. The function that work returns then runs
// in the loop and applies the result. verb is shown in the status while the job runs; empty for none.
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

// change relaunches an agent in its existing session, or runs its live commands again.
func (l *loop) change(e *entry, s *plan.Session, a plan.Action) {
	e.apply = false
	p, began, limit := e.backend.provider, l.now(), liveLimit
	launch := l.launch(s, s.Config)
	launch.LiveOnly = a.Verb == plan.VerbApplyLive
	if a.Verb == plan.VerbRelaunch {
		cfg, ok := l.relaunchConfig(e, s)
		if !ok {
			return // a later pass continues
		}
		launch.Config, limit = cfg, max(s.StartTimeout, startLimit)
		launch.Token, launch.Epoch = l.c.opts.NewToken(), e.rec.Epoch+1
	}
	l.begin(e, jobChange, a.Verb, limit, func(ctx context.Context) func() {
		r := launch.Change(ctx, p)
		return func() { l.changed(e, s, a, began, r) }
	})
}

// launch returns a launch of the session with the given Config.
func (l *loop) launch(s *plan.Session, cfg runtime.Config) *ops.Launch {
	return &ops.Launch{Root: l.c.opts.Root, Session: s, Config: cfg, Secrets: l.c.opts.Secrets, FindProgram: l.c.opts.FindProgram}
}

// changed applies the result r of a change to a running session: of a relaunch, or of live commands (session_live) that ran again.
// r.Applied: the change is in force. r.Renewed: the session has a new instance. If the provider cannot relaunch, the next decision
// is a restart.
func (l *loop) changed(e *entry, s *plan.Session, a plan.Action, began time.Time, r ops.Changed) {
	if a.Verb == plan.VerbRelaunch && (errors.Is(r.Err, runtime.ErrRelaunchUnsupported) || errors.Is(r.Err, errors.ErrUnsupported)) {
		e.backend.cannotRelaunch = true // the next decision is a restart
		l.restoreConversation(e)
		return
	}
	if !r.Applied && r.Renewed {
		l.relaunchFailed(e, began, r)
		return
	}
	if !r.Applied {
		e.disrupted = false // the previous process runs
		l.restoreConversation(e)
		e.stopFault = ops.Fault(r.Err)
		e.stopAt = l.now().Add(l.c.opts.Jitter(ops.Pause(1)))
		e.stale, e.observeAt = true, e.stopAt
		l.c.opts.Logger.Warn("cannot apply a changed configuration", "session", s.Name, "verb", a.Verb, "error", r.Err)
		return
	}
	if r.Err != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", s.Name, "error", r.Err)
	}
	e.rec.Stored = s.Fingerprints
	e.touch()
	if a.Verb == plan.VerbRelaunch {
		e.hints = hintsOf(s)
	}
	kind, text := event.SessionLiveApplied, "the session_live commands were run again"
	if a.Verb == plan.VerbRelaunch {
		kind, text = event.SessionRelaunched, "the agent was relaunched in its session"
		if !r.Renewed {
			l.c.opts.Logger.Warn("a relaunch did not change the instance token; agents of this provider are restarted from now on", "provider", e.rec.Provider)
			e.backend.cannotRelaunch = true
		}
		l.recordRelaunch(e, began, r)
	}
	l.emit(kind, e, text, map[string]string{"fields": strings.Join(a.Fields, ",")})
	l.applyFinding(e, r.Finding)
	l.sense(e)
}

// recordRelaunch records that a relaunch replaced the process, and clears the state of the previous process.
func (l *loop) recordRelaunch(e *entry, began time.Time, r ops.Changed) {
	e.touch()
	e.rec.Epoch++
	if r.Finding.Err == nil && r.Finding.Seen.InstanceToken != e.rec.Token {
		e.identify(r.Finding.Seen)
	}
	e.before, e.rec.Conversation.Begun = nil, true
	e.rec.StartedAt, e.rec.Warning = began, ""
	e.clearSenses()
}

// relaunchFailed records that a relaunch replaced the agent's process, but the new process did not become ready. If the new
// process still runs, gc stops it and starts the agent again, as after an interrupted start. If it has exited, the observation
// in r shows that, and gc handles it as any exit.
func (l *loop) relaunchFailed(e *entry, began time.Time, r ops.Changed) {
	l.recordRelaunch(e, began, r)
	if r.Finding.Seen.Agent != runtime.Dead {
		e.startInterrupted, e.known, e.rec.Start = true, false, session.StartCut
		fault := ops.Fault(r.Err)
		if r.Missing != nil {
			fault = r.Missing.Error()
		}
		l.fail(e, fault)
		l.emit(event.SessionStartFailed, e, "the agent was replaced, and its start failed: "+ops.FirstLine(e.rec.Fault),
			map[string]string{"error": e.rec.Fault, "next": explain.Stamp(e.rec.NextAt)})
	}
	l.applyFinding(e, r.Finding)
	l.sense(e)
}

// adopt begins to manage a session that was already running, for example after a restart of the controller. If the start of that
// session was interrupted, adopt also runs its live commands, which may run twice.
func (l *loop) adopt(e *entry, s *plan.Session) {
	p, name, handle, limit := e.backend.provider, e.rec.Session, e.seen.Handle, observeLimit
	notes := ops.Metadata{City: l.c.opts.Root, Agent: e.rec.Agent, Stored: e.rec.Stored, Epoch: e.rec.Epoch, Started: e.rec.Instance}
	undone := e.action.StartInterrupted
	noted := e.owner != plan.OwnerUnknown && !e.startInterrupted && e.notedEpoch == e.rec.Epoch
	var live *plan.Session
	if e.startInterrupted && s != nil && len(s.Config.SessionLive) > 0 {
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
				e.rec.Warning = "start: interrupted because the controller stopped; gc does not know which set-up steps ran and whether the first prompt arrived"
			}
			l.adopted(e, notes.Stored, err, liveErr)
		}
	})
}

// adopted applies the result of the job that adopt began. stored are the fingerprints that are valid for the session now. err
// means that the session could not be taken over; liveErr, that only its live commands failed.
func (l *loop) adopted(e *entry, stored session.Fingerprints, err, liveErr error) {
	if err != nil {
		l.applyFinding(e, ops.Finding{Err: fmt.Errorf("cannot take over the session: %w", err)})
		return
	}
	if liveErr != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", e.rec.Session, "error", liveErr)
	}
	e.known, e.owner, e.hints = true, plan.OwnerThisCity, ""
	e.startInterrupted, e.rec.Start, e.rec.Stored, e.notedEpoch = false, session.StartDone, stored, e.rec.Epoch
	e.rec.Conversation.Begun = e.rec.Conversation.ID != ""
	e.touch()
	e.rec.Running, e.rec.Exit = true, nil
	if e.blocked { // this is the session that made the start fail
		e.blocked, e.rec.Fault, e.rec.NextAt = false, "", time.Time{}
	}
	e.idleSince = l.now()
	l.emit(event.SessionAdopted, e, "a session that was already running was taken over", map[string]string{"instance": e.rec.Instance})
	l.sense(e)
}

// rebaseline replaces the stored fingerprints of a running session, if another version of gc computed them, by those of the
// current configuration. The two cannot be compared, so gc assumes that the session runs with the current configuration and does
// not restart it.
func (l *loop) rebaseline(e *entry) {
	s := l.desired[e.rec.Key()]
	if s == nil || e.backend.provider == nil {
		return
	}
	p, n := e.backend.provider, ops.Metadata{City: l.c.opts.Root, Agent: s.Agent, Stored: s.Fingerprints}
	e.rec.Stored = n.Stored
	e.touch()
	l.begin(e, jobAdopt, "", observeLimit, func(context.Context) func() {
		err := n.Write(p, s.Name)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot store the current fingerprints", "session", s.Name, "error", err)
			}
		}
	})
}
