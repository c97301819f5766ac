package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// observeEntry begins an observation of an entry that is stale, which means that gc must observe
// the session before it acts on it. An entry becomes stale at the time again. It begins none while a
// job runs on the entry, before the time observeAt, or while too many observations run.
func (l *loop) observeEntry(e *entry) {
	if !e.again.IsZero() {
		if l.now().Before(e.again) {
			l.wakeAt(e.again)
		} else {
			e.stale = true
		}
	}
	if !e.stale || e.job != nil || e.backend.provider == nil || e.backend.health.WhyUnknown(e.rec.Session) != "" {
		return
	}
	if l.now().Before(e.observeAt) {
		l.wakeAt(e.observeAt)
		return
	}
	if l.observing >= l.settings().ProbeConcurrency {
		return // the end of another observation causes the next pass
	}
	l.observing++
	e.stale, e.again = false, time.Time{}
	p, name := e.backend.provider, e.rec.Session
	token, attributed := e.rec.Token, e.owner != plan.OwnerUnknown
	l.begin(e, jobObserve, "", observeLimit, func(ctx context.Context) func() {
		f := ops.Observe(ctx, p, name)
		if f.Err == nil && f.Seen.Session == runtime.Alive && (!attributed || f.Seen.InstanceToken != token) {
			f.Metadata, f.Err = ops.ReadMetadata(p, name)
		}
		return func() { l.applyFinding(e, f) }
	})
}

// countObservations returns the number of running observations. An observation that is overdue is
// not counted, so that it delays no other.
func (l *loop) countObservations() int {
	n := 0
	for _, e := range l.entries {
		if e.job != nil && e.job.kind == jobObserve && l.now().Before(e.job.overdue) {
			n++
		}
	}
	return n
}

// applyFinding applies the result of an observation to an entry.
func (l *loop) applyFinding(e *entry, f ops.Finding) {
	now, ran := l.now(), e.running()
	if f.Err != nil {
		e.unknownReason = fmt.Sprintf("cannot observe the session: %v", f.Err)
		e.failedLooks++
		e.stale, e.observeAt = true, now.Add(min(l.c.opts.Jitter(ops.Pause(e.failedLooks)), l.settings().PatrolInterval))
		if errors.Is(f.Err, runtime.ErrRuntimeUnavailable) {
			e.backend.wanted = true
		}
		return
	}
	e.unknownReason, e.failedLooks, e.observeAt = "", 0, time.Time{}
	if f.Seen.At.IsZero() {
		f.Seen.At = now
	}
	e.first = e.seen.At.IsZero() || e.first && !e.known && (e.seen.Session == runtime.Unknown || e.seen.Agent == runtime.Unknown)
	e.seen, e.confirmed = f.Seen, true
	l.scheduleObservation(e)
	same := f.Seen.InstanceToken != "" && session.PublicInstance(f.Seen.InstanceToken) == e.rec.Instance
	if f.Metadata != nil {
		l.attribute(e, &f, same)
	}
	switch {
	case f.Seen.Session != runtime.Alive || f.Seen.InstanceToken == e.rec.Token:
	case same && e.rec.Token == "": // a previous controller started it; the token comes from the session again
		e.rec.Token = f.Seen.InstanceToken
	default:
		l.successor(e, f)
	}
	if f.Screen != "" && f.Screen != e.rec.Screen {
		e.rec.Screen = f.Screen
		e.touch()
	}
	if !e.running() && f.Seen.Session != runtime.Unknown && e.rec.IsDraining() {
		l.endDrain(e)
		e.rec.Running = false // its end was requested
	}
	switch {
	case e.running():
		if !e.backend.streams || e.startInterrupted || !ran || e.sensing.last.IsZero() { // what it printed meanwhile was not read
			l.sense(e)
		}
		if !e.rec.Running {
			e.rec.Running = true
			e.touch()
		}
	case f.Seen.Session != runtime.Unknown && e.rec.Running && !e.claimed:
		l.ended(e)
	}
}

// scheduleObservation schedules another observation if this one was unclear and no event will clear
// it up: an agent that has just exited for an unknown reason, an agent that runs without its
// session, and a session of unknown existence.
func (l *loop) scheduleObservation(e *entry) {
	seen := &e.seen
	ending := seen.Session == runtime.Alive && seen.Agent == runtime.Dead && seen.Exit == nil && e.rec.Running
	orphan := seen.Session == runtime.Dead && seen.Agent != runtime.Dead
	switch {
	case ending && e.unsure < exitRetries:
		seen.Agent = runtime.Unknown
		e.again = l.now().Add(exitPause << e.unsure)
	case orphan, seen.Session == runtime.Unknown:
		e.again = l.now().Add(min(l.c.opts.Jitter(ops.Pause(e.unsure+1)), l.settings().PatrolInterval))
	default:
		e.unsure = 0
		return
	}
	e.unsure++
	l.wakeAt(e.again)
}

// attribute determines which city owns the observed session and whether its start was completed.
// The session's metadata counts first, then the record. same means that the observed instance is
// the one in the record.
func (l *loop) attribute(e *entry, f *ops.Finding, same bool) {
	n, seen := f.Metadata, session.PublicInstance(f.Seen.InstanceToken)
	e.notedEpoch = n.Epoch
	if n.Epoch > e.rec.Epoch {
		e.rec.Epoch = n.Epoch // the record was lost
		e.touch()
	}
	switch {
	case n.Started == seen && same && e.rec.Start != session.StartDone:
		e.rec.Start = session.StartDone // its controller stopped before it stored that
		e.touch()
	case seen == "", n.Started == seen:
	default:
		e.startInterrupted = same && e.rec.Start != session.StartDone || n.Started != "" && n.City == l.c.opts.Root
	}
	switch n.City {
	case "":
		if same {
			e.owner = plan.OwnerThisCity // its start was interrupted before the metadata was written
			return
		}
		e.owner = plan.OwnerUnknown
	case l.c.opts.Root:
		e.owner = plan.OwnerThisCity
		e.rec.Agent = cmp.Or(e.rec.Agent, n.Agent)
	default:
		e.owner = plan.OwnerOther
	}
	if !reflect.DeepEqual(e.rec.Stored, n.Stored) {
		e.rec.Stored = n.Stored
		e.touch()
	}
}

// successor records that the running instance is not the one in the record: this controller did not
// start it. If the record's instance was running, it has stopped.
func (l *loop) successor(e *entry, f ops.Finding) {
	if e.rec.Running && !e.claimed {
		l.ended(e)
	}
	e.known, e.claimed = false, false
	e.touch()
	if e.rec.Epoch++; f.Metadata != nil && e.notedEpoch != 0 && f.Metadata.Started == session.PublicInstance(f.Seen.InstanceToken) {
		e.rec.Epoch = max(e.rec.Epoch-1, e.notedEpoch) // the metadata contains the instance's own epoch
	}
	e.identify(f.Seen)
	e.rec.Start = session.StartDone
	if e.startInterrupted {
		e.rec.Start = session.StartOpen
	}
	e.rec.Conversation = e.rec.Conversation.WithoutPresent()
	e.rec.StartedAt, e.rec.Warning = f.Seen.StartedAt, ""
	e.rec.Running = e.running()
	e.rec.Exit = f.Seen.Exit
	e.clearSenses()
}

// ended records that the running instance exited or disappeared, although neither gc nor a person
// stopped it. Unless the agent has finished its task, this is a failure and delays the next start.
func (l *loop) ended(e *entry) {
	now := l.now()
	exit := e.seen.Exit
	lived := now.Sub(e.rec.StartedAt)
	cut := e.rec.Start == session.StartOpen
	e.known, e.startInterrupted, e.rec.Start = false, false, session.StartDone
	e.touch()
	e.rec.Running, e.rec.Exit, e.rec.Lost = false, exit, exit == nil && e.seen.Session == runtime.Dead
	e.clearSenses()
	key := e.rec.Key()
	s := l.desired[key]
	if s != nil && s.Config.Lifecycle == runtime.LifecycleOneShot && exit != nil && exit.Code == 0 && exit.Signal == "" {
		l.emit(event.SessionExited, e, "the agent has finished", map[string]string{"exit": exit.String()})
		l.recordEnd(e, "it finished")
		return
	}
	if l.ending != nil {
		e.last = client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent, Processes: len(e.tree), Uncounted: ops.Uncounted(&e.seen), Survivors: ops.Survivors(e.tree), Seconds: now.Sub(l.ending.BeganAt).Seconds()}
		l.addToCensus(e)
	}
	kind, fault := ops.EndOf(&e.rec, e.seen.Cause)
	if e.rec.ProgramMissing != "" && ops.NotRun(exit) {
		fault = e.rec.ProgramMissing
	}
	e.rec.ProgramMissing = ""
	if cut && e.rec.Lost {
		kind, fault = event.SessionStartFailed, "its start was interrupted because the controller stopped"
	}
	data := map[string]string{}
	switch {
	case l.endedBefore(e) && (!cut || l.c.opts.Retry):
		fault = "it exited while no controller ran; its exit status is unknown"
		data["reason"] = fault + "; not counted as a failure"
	case l.recordFinalLimit(e, e.seen.Last):
		data["reason"] = "the model provider serves no requests for now; not counted as a failure"
	case l.recordLateResumeFailure(e, fault):
		data["reason"] = "its conversation could not be resumed; not counted as a failure"
	case l.ending == nil && s != nil && !s.Suspended && e.rec.Hold.Kind == "":
		l.failAfter(e, lived, fault)
		data["next"] = explain.Stamp(e.rec.NextAt)
	}
	if exit != nil {
		data["exit"] = exit.String()
	}
	l.recordEnd(e, fault)
	l.emit(kind, e, fault, data)
}

// endedBefore reports whether a session stopped before this controller started and this must not
// count as a failure of the agent. That is so if a person has just started the city and wants a new
// attempt at once, or if all sessions of the provider were lost or killed together.
func (l *loop) endedBefore(e *entry) bool {
	killed := e.rec.Lost || e.rec.Exit != nil && e.rec.Exit.Signal != ""
	return e.first && (l.c.opts.Retry || e.backend.lostAll && killed)
}

// failAfter records a failure of an agent that ran for the time lived before it exited. If that was
// [stableLife] or longer, earlier failures are not counted any more and the next start is not
// delayed.
func (l *loop) failAfter(e *entry, lived time.Duration, fault string) {
	if lived >= stableLife {
		e.rec.Streak = 0
	}
	l.fail(e, fault)
	if lived >= stableLife {
		e.rec.NextAt = time.Time{}
	}
}

// fail records a failure of the agent, with fault as its reason. Each further failure in a row
// delays the next start longer.
func (l *loop) fail(e *entry, fault string) {
	now := l.now()
	e.rec.AddFailure(now, l.settings().RestartWindow, fault)
	e.rec.NextAt = now.Add(l.c.opts.Jitter(ops.Pause(e.rec.Streak)))
	e.touch()
}
