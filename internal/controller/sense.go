package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// sensing is the loop's state of the channels of one agent.
type sensing struct {
	senses   session.EvidenceSet
	activity session.Activity
	judged   []session.Judged

	announced runtime.Activity // the activity in the last event; empty: no event yet
	unknownAt time.Time        // start of the current unknown activity

	pending    *runtime.PendingInteraction
	ended      *runtime.End // the end that the agent's side reported; nil: none
	readAt     time.Time    // time of the last reading
	reportedAt time.Time    // when the loop received that reading
	needed     bool         // an action waits for the next reading

	due         time.Time // time of the next read; zero: none
	last        time.Time // when the last read began
	under       bool      // a read runs
	hung        bool      // the running read is overdue
	overdue     time.Time // from this time on the read is not counted in the limit
	faults      int       // consecutive failed reads
	unsupported bool      // the driver cannot read the agent's channels
	statusText  string    // the status that the program reported, until unsupported is known

	stall stall
}

const (
	senseGap    = 250 * time.Millisecond // between two reads of one session
	reportGap   = 40 * time.Millisecond  // the same after Controller.Sense
	startGap    = 2 * time.Second        // between two reads of a starting session that prints nothing
	senseLimit  = 5 * time.Second        // duration of one read
	sensesAtime = 8                      // concurrent reads
	pushedStale = 24 * time.Hour
)

// clearSenses resets what was read from an agent's channels after its instance has stopped. A read
// that runs continues.
func (e *entry) clearSenses() {
	e.asks = false
	s := &e.sensing
	next := sensing{under: s.under, overdue: s.overdue}
	if s.under {
		next.last = s.last
	}
	e.sensing = next
}

// sense schedules a read of the agent's channels (such as hooks, status and screen) as soon as
// possible.
func (l *loop) sense(e *entry) { l.senseAt(e, l.now()) }

// senseAt schedules a read of the agent's channels at the given time, or [senseGap] after the last
// read if that is later.
func (l *loop) senseAt(e *entry, at time.Time) {
	s := &e.sensing
	if earliest := s.last.Add(senseGap); at.Before(earliest) {
		at = earliest
	}
	if s.due.IsZero() || at.Before(s.due) {
		s.due = at
	}
	l.sensible[e] = true
	l.tickAt(s.due)
}

// readSenses begins the reads of the agents' channels that are due, as far as the limit of
// concurrent reads allows.
func (l *loop) readSenses() {
	now, busy := l.now(), 0
	for e := range l.sensible {
		if e.sensing.under && now.Before(e.sensing.overdue) {
			busy++
		}
	}
	for e := range l.sensible {
		s := &e.sensing
		switch {
		case s.under:
			l.awaitRead(e)
		case s.due.IsZero() || !e.running() && !e.starting() || l.entries[e.rec.Key()] != e:
			delete(l.sensible, e)
		case now.Before(s.due):
			l.tickAt(s.due)
		case s.unsupported:
			s.due = time.Time{}
			l.updateActivity(e)
		case busy < sensesAtime:
			busy++
			l.read(e)
		default: // the next turn follows when another read ends
		}
	}
}

// awaitRead handles a read that is still running. If the read is overdue, it counts as failed, and
// it is not counted in the limit of concurrent reads any more.
func (l *loop) awaitRead(e *entry) {
	s := &e.sensing
	switch now := l.now(); {
	case now.Before(s.overdue):
		l.tickAt(s.overdue)
	case !s.hung, !s.due.IsZero() && !now.Before(s.due):
		s.hung, s.due = true, time.Time{}
		s.senses.RecordFailure(s.overdue)
		l.updateActivity(e)
	case !s.due.IsZero():
		l.tickAt(s.due)
	default: // nothing changes until the read returns
	}
}

// read begins one read of the agent's channels in its own goroutine. [loop.sensed] applies the
// result.
func (l *loop) read(e *entry) {
	s, p, name := &e.sensing, e.backend.provider, e.rec.Session
	s.due, s.last, s.under, s.hung = time.Time{}, l.now(), true, false
	s.overdue = s.last.Add(senseLimit + overdueAfter)
	l.spawnWithoutPass(senseLimit, func(ctx context.Context) func() {
		reading, err := runtime.Sense(ctx, p, name)
		return func() {
			e.sensing.under = false
			l.sensed(e, reading, err)
		}
	})
}

// sensed applies the result of a read. It ignores a reading of another instance.
func (l *loop) sensed(e *entry, reading runtime.Reading, err error) {
	s := &e.sensing
	switch {
	case !e.running() && !e.starting() || e.rec.Token != "" && reading.Instance != "" && reading.Instance != e.rec.Token:
		return
	case errors.Is(err, errors.ErrUnsupported):
		s.unsupported, s.due, l.dirty = true, time.Time{}, true
		if s.statusText != "" {
			l.handleStatus(e, s.statusText)
		}
		return
	case e.starting():
		l.sensedEarly(e, reading, err)
		return
	case runtime.IsSessionGone(err):
		e.stale, l.dirty = true, true
		return
	case err != nil:
		s.faults++
		s.senses.RecordFailure(l.now())
		l.updateActivity(e)
		l.senseAt(e, l.now().Add(min(l.c.opts.Jitter(ops.Pause(s.faults)), l.settings().PatrolInterval)))
		return
	}
	s.faults = 0
	if reading.LastInput.After(e.seen.LastInput) {
		e.seen.LastInput = reading.LastInput // no event reports what a person types
		l.markUnpublished(e)
	}
	reading.At = cmp.Or(reading.At, l.now())
	s.senses.Fold(reading)
	l.progressed(e, reading.Progress)
	s.readAt, s.reportedAt = reading.At, l.now()
	l.dirty, s.needed = l.dirty || s.needed, false
	l.handleQuestion(e, reading.Pending)
	l.handleEnd(e, reading.Ended)
	if plan.ApplyConversationReading(&e.rec.Conversation, l.desired[e.rec.Key()], reading) {
		e.touch()
	}
	if !reading.Again.IsZero() {
		l.senseAt(e, reading.Again)
	}
	l.updateActivity(e)
}

// sensedEarly applies a reading of a session that is still starting. It uses only a question that a
// person must answer, because the start itself handles everything else. It schedules the next read,
// because no event reports a change.
func (l *loop) sensedEarly(e *entry, reading runtime.Reading, err error) {
	s := &e.sensing
	l.senseAt(e, l.now().Add(startGap))
	if err != nil {
		return // the session does not exist yet, or cannot be read yet
	}
	if q := reading.Pending; q != nil && q.Metadata[runtime.MetaWhy] == "" {
		reading.Pending = nil
	}
	l.handleQuestion(e, reading.Pending)
	s.readAt = cmp.Or(reading.At, l.now())
}

// handleEnd records the end that the provider's side of the session reported: the agent has
// finished; nil: it has not. If that changed, the session is observed again.
func (l *loop) handleEnd(e *entry, end *runtime.End) {
	if (e.sensing.ended == nil) != (end == nil) {
		e.stale, e.observeAt, l.dirty = true, time.Time{}, true
	}
	e.sensing.ended = end
}

// handleQuestion records the question that blocks the agent; nil: none.
func (l *loop) handleQuestion(e *entry, question *runtime.PendingInteraction) {
	if explain.Asked(e.sensing.pending) != explain.Asked(question) {
		l.markChanged(e)
	}
	e.sensing.pending = question
}

// handleStatus processes a status text that the program reported. The text is used only if the
// driver cannot read the agent's channels.
func (l *loop) handleStatus(e *entry, words string) {
	if !e.sensing.unsupported {
		e.sensing.statusText = words // used if the read shows that the driver does not support it
		l.sense(e)
		return
	}
	e.sensing.senses.Push(runtime.Evidence{Source: runtime.SourceStatus, Activity: ops.ActivityOf(words), At: l.now(), Detail: words})
	e.sensing.readAt = l.now()
	l.updateActivity(e)
}

// evidenceRules returns how long a signal about the agent's activity stays valid: [pushedStale] if
// the provider pushes events, otherwise four patrol intervals.
func (p *backend) evidenceRules(patrol time.Duration) session.Rules {
	if p.streams {
		return session.Rules{Stale: pushedStale, StalePushed: pushedStale}
	}
	return session.Rules{Stale: 4 * patrol}
}

// updateActivity computes the agent's activity from all its signals, and publishes it if it
// changed.
func (l *loop) updateActivity(e *entry) {
	s := &e.sensing
	now, before := l.now(), s.activity
	var next time.Time
	s.activity, s.judged, next = session.Fuse(&s.senses, now, e.backend.evidenceRules(l.settings().PatrolInterval))
	if !next.IsZero() {
		l.senseAt(e, next)
	}
	l.markUnpublished(e)
	if open := ops.StillOpen(e.rec.Warning, s.activity.State); s.pending == nil && open != e.rec.Warning {
		e.rec.Warning = open
		e.touch()
		l.markChanged(e)
	}
	other := s.activity.State != before.State
	if other {
		s.unknownAt = now
		s.stall.progress("the change to "+string(s.activity.State), now)
	}
	l.updateObstacle(e)
	if !other && s.activity.Kind == before.Kind && s.activity.Until.Equal(before.Until) {
		return
	}
	l.markChanged(e)
	if other {
		l.announce(e)
	}
}
