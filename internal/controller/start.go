package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/driver"
	"gascity/runtime"
)

// claim assigns a number and a token to the next instance of a session, in the record. The instance is started only after the
// store has saved the record. So a crash of the controller can neither start the same instance twice nor lose one that was
// started.
func (l *loop) claim(e *entry, s *plan.Session) {
	if l.collectStates(e) || l.startsTooOften(e) {
		return
	}
	e.claimed = true
	e.rec.Epoch++
	e.rec.Start = session.StartOpen
	e.rec.Token = l.c.opts.NewToken()
	e.rec.Instance = session.PublicInstance(e.rec.Token)
	e.rec.Stored, e.rec.StartedAt, e.rec.Running = s.Fingerprints, l.now(), true
	e.rec.Agent = s.Agent
	e.rec.Conversation = plan.ChooseConversation(s, e.rec.Conversation, l.now())
	e.touch()
}

const (
	// mostStarts is the maximum number of starts of one session within startsWindow, for any
	// reason. More starts count as a failure.
	mostStarts   = 10
	startsWindow = time.Minute
)

// startsTooOften reports whether a session was started [mostStarts] times within [startsWindow]. It then records a failure, which
// delays the next start. A restart that a person requests resets the count.
func (l *loop) startsTooOften(e *entry) bool {
	now := l.now()
	if e.order == plan.OrderRestart {
		e.begun = nil
	}
	e.begun = slices.DeleteFunc(e.begun, func(at time.Time) bool { return now.Sub(at) >= startsWindow || at.After(now) })
	if len(e.begun) < mostStarts {
		e.begun = append(e.begun, now)
		return false
	}
	fault := fmt.Sprintf("it was started %d times within %v and exited each time", mostStarts, startsWindow)
	l.fail(e, fault)
	if until := e.begun[0].Add(startsWindow); e.rec.NextAt.Before(until) {
		e.rec.NextAt = until
	}
	l.dirty = true
	l.emit(event.SessionStartFailed, e, "the start failed: "+fault,
		map[string]string{"error": fault, "class": "loop", "next": explain.Stamp(e.rec.NextAt)})
	return true
}

// unclaim undoes [loop.claim] for an instance whose start has not begun.
func (l *loop) unclaim(e *entry) {
	if e.claimed && e.job == nil {
		e.claimed, e.rec.Running, e.rec.Start = false, false, session.StartDone
		e.touch()
	}
}

// updateStartDeadlines checks the running starts whose deadline has passed: a start that shows progress gets a later deadline,
// any other is abandoned.
func (l *loop) updateStartDeadlines() {
	for _, e := range l.entries {
		if e.job == nil || e.job.attempt == nil {
			continue
		}
		a := e.job.attempt
		a.Judge(l.now())
		if !a.Abandoned {
			l.wakeAt(a.Due())
		}
		e.job.overdue = a.Due().Add(overdueAfter)
	}
}

// start begins the start of the claimed instance e. The caller has made sure that the previous instance has stopped.
func (l *loop) start(e *entry, s *plan.Session) {
	p, began, token := e.backend.provider, l.now(), e.rec.Token
	cfg, ok := plan.ConversationConfig(s, e.rec.Conversation)
	if !ok { // the configuration has changed since the claim
		l.unclaim(e)
		l.dirty = true
		return
	}
	e.claimed, e.blocked, e.order = false, false, plan.OrderNone
	l.emit(event.SessionStarting, e, "the controller is starting the session", explain.Starting(e.action.Reason, &e.rec.Conversation))
	a := ops.NewAttempt(began, cmp.Or(max(s.StartTimeout, 0), startLimit))
	launch := l.launch(s, cfg)
	launch.Token, launch.Epoch = token, e.rec.Epoch
	l.begin(e, jobStart, plan.VerbStart, a.Longest(), func(ctx context.Context) func() {
		r := startResult{Started: a.Start(ctx, p, launch), began: began, token: token, attempt: a}
		return func() { l.started(e, s, r) }
	})
	e.job.attempt = a
	e.clearSenses()
	l.senseAt(e, began.Add(startGap))
	e.job.overdue = a.Due().Add(overdueAfter)
	l.wakeAt(a.Due())
}

// startResult is the result of a start.
type startResult struct {
	ops.Started
	began   time.Time
	token   string
	attempt *ops.Attempt
}

// started applies the result of a start.
func (l *loop) started(e *entry, s *plan.Session, r startResult) {
	e.touch()
	e.rec.Start = session.StartDone
	if r.Err != nil {
		e.rec.Running = false
		e.clearSenses()
		l.startFailed(e, r)
		return
	}
	if r.MetadataErr != nil {
		l.c.opts.Logger.Warn("cannot store the fingerprints with the session; a later controller does not know its configuration", "session", s.Name, "error", r.MetadataErr)
	}
	if e.rec.Fault != "" {
		e.rec.Restarts++ // the previous instance failed or stopped without a request
	}
	e.hints = hintsOf(s)
	e.known, e.owner, e.tries, e.stopAt, e.stopFault = true, plan.OwnerThisCity, 0, time.Time{}, ""
	e.rec.ProgramMissing = ""
	if r.Unseen != nil {
		e.rec.ProgramMissing = r.Unseen.Error()
	}
	e.rec.Exit, e.rec.Screen, e.rec.Fault, e.rec.Lost, e.rec.NextAt = nil, "", "", false, time.Time{}
	e.rec.Warning, e.rec.Renew = r.Warning, time.Time{}
	l.endObstacle(e)
	e.rec.Token = cmp.Or(r.Finding.Seen.InstanceToken, r.token)
	e.rec.Conversation.Begun = e.rec.Conversation != session.Conversation{}
	e.rec.Instance = session.PublicInstance(e.rec.Token)
	data := map[string]string{"instance": e.rec.Instance, "seconds": fmt.Sprintf("%.3f", l.now().Sub(r.began).Seconds())}
	if r.Warning != "" {
		data["warning"] = r.Warning
	}
	e.clearSenses()
	l.emit(event.SessionStarted, e, "the agent runs", data) // before applyFinding: the observation may show that it has already exited
	l.applyFinding(e, r.Finding)
	l.sense(e)
}

// startBlocked records that the provider refused a start because a session of that name exists. If the next observation finds
// that session, gc adopts it. If not, the start counts as a failure.
func (l *loop) startBlocked(e *entry, r startResult) {
	fault := ops.Fault(r.Err) + ": the provider has a session of this name that it does not list; look for a leftover process with: gc doctor"
	l.recordEnd(e, "its start failed: "+ops.FirstLine(fault))
	e.rec.Conversation.MarkNotBegun()
	e.blocked = true
	l.fail(e, fault)
	l.emit(event.SessionStartFailed, e, "the start failed: "+ops.FirstLine(fault), map[string]string{
		"error": fault, "class": "exists", "next": explain.Stamp(e.rec.NextAt),
	})
}

// startFailed applies the error of a start: it records the failure and delays the next start,
// unless a limit or an unresumable conversation is the reason.
func (l *loop) startFailed(e *entry, r startResult) {
	e.stale = true
	switch {
	case errors.Is(r.Err, runtime.ErrSessionExists):
		l.startBlocked(e, r)
		return
	case errors.Is(r.Err, runtime.ErrSessionInitializing):
		e.rec.NextAt = l.now().Add(l.c.opts.Jitter(time.Second))
		return
	case l.ending != nil || l.ctx.Err() != nil:
		return // the start was canceled
	}
	fault := ops.Fault(r.Err)
	lapse, limited := session.ResumeFailure(""), false
	if death, ok := errors.AsType[*runtime.StartupDeath](r.Err); ok {
		e.rec.Exit, e.rec.Screen = &death.Exit, death.Output
		limited = l.recordFinalLimit(e, death.Last)
		lapse = plan.FindResumeFailure(&e.rec.Conversation, e.rec.Exit, death.Output)
	} else if said := driver.FailureOutput(r.Err); said != "" {
		e.rec.Screen = said
	} else if r.attempt.Screen != "" {
		e.rec.Screen = r.attempt.Screen
		fault += ", its screen says: " + ops.LastOutput(r.attempt.Screen)
	}
	if r.attempt.Abandoned && e.rec.Conversation.IsResumed() {
		lapse = session.ResumeOther
	}
	if r.Missing != nil { // the conversation is not the reason
		fault, lapse = r.Missing.Error(), ""
	}
	l.recordEnd(e, "its start failed: "+ops.FirstLine(fault))
	switch {
	case limited:
		l.emit(event.SessionStartFailed, e, "the start failed: the model provider serves no requests for now",
			map[string]string{"error": fault, "class": "limited"})
		return
	case l.recordResumeFailure(e, lapse, fault):
		return
	}
	e.rec.Conversation.MarkNotBegun()
	l.fail(e, fault)
	l.emit(event.SessionStartFailed, e, "the start failed: "+ops.FirstLine(e.rec.Fault), map[string]string{
		"error": e.rec.Fault, "class": r.attempt.Class(r.Err), "next": explain.Stamp(e.rec.NextAt),
	})
}
