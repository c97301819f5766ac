package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/conversation"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// sensing is what the loop knows of one agent's own channels.
type sensing struct {
	senses   session.EvidenceSet
	activity session.Activity
	judged   []session.Judged

	announced runtime.Activity // what the last event said; empty: there was none
	unknownAt time.Time        // since when the activity is unknown, if it is

	pending    *runtime.PendingInteraction
	ended      *runtime.End // by its own side's word; nil: it has not said so
	readAt     time.Time    // of the last reading
	reportedAt time.Time    // when that came
	needed     bool         // something is to be done once a reading has come

	due         time.Time // when to read again; zero: nothing is due
	last        time.Time // when the last read began
	under       bool      // a read is under way
	hung        bool      // and has been given up
	overdue     time.Time // from then on it counts in no limit
	faults      int       // reads in a row that failed
	unsupported bool      // the driver cannot be asked
	statusText  string    // what the program said of itself, until that is known

	stall stall
}

const (
	senseGap    = 250 * time.Millisecond // between two reads of one session
	reportGap   = 40 * time.Millisecond  // the same if somebody has reported something
	startGap    = 2 * time.Second        // between two reads of one that is being started, if it prints nothing
	senseLimit  = 5 * time.Second        // of one read
	sensesAtime = 8                      // reads under way
	pushedStale = 24 * time.Hour
)

// clearSenses forgets what an instance that is over had said.
func (e *entry) clearSenses() {
	e.asks = false
	e.sensing = sensing{under: e.sensing.under, overdue: e.sensing.overdue}
}

// sense asks for a read of the agent's channels, soon.
func (l *loop) sense(e *entry) { l.senseAt(e, l.now()) }

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

// readSenses begins the reads that are due. It looks only at sessions that can
// be read.
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
			l.conclude(e)
		case busy < sensesAtime:
			busy++
			l.read(e)
		default: // the end of another read makes the next turn
		}
	}
}

// awaitRead waits for a read that is under way. One that is overdue has failed for
// as long as it does not come: its place is free.
func (l *loop) awaitRead(e *entry) {
	s := &e.sensing
	switch now := l.now(); {
	case now.Before(s.overdue):
		l.tickAt(s.overdue)
	case !s.hung, !s.due.IsZero() && !now.Before(s.due):
		s.hung, s.due = true, time.Time{}
		s.senses.RecordFailure(s.overdue)
		l.conclude(e)
	case !s.due.IsZero():
		l.tickAt(s.due)
	default: // nothing changes before it comes
	}
}

// read begins one read. What it says of another instance is dropped.
func (l *loop) read(e *entry) {
	s, p, name := &e.sensing, e.backend.provider, e.rec.Session
	s.due, s.last, s.under, s.hung = time.Time{}, l.now(), true, false
	s.overdue = s.last.Add(senseLimit + overdueAfter)
	l.aside(senseLimit, func(ctx context.Context) func() {
		reading, err := runtime.Sense(ctx, p, name)
		return func() {
			e.sensing.under = false
			l.sensed(e, reading, err)
		}
	})
}

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
		l.conclude(e)
		l.senseAt(e, l.now().Add(min(l.c.opts.Jitter(ops.Pause(s.faults)), l.settings().Patrol)))
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
	if conversation.ApplyReading(&e.rec.Conversation, l.desired[e.rec.Key()], reading) {
		e.touch()
	}
	if !reading.Again.IsZero() {
		l.senseAt(e, reading.Again)
	}
	l.conclude(e)
}

// sensedEarly takes a reading of a session whose start is not complete: only its
// question counts, if only a person may answer it; the start handles the rest. No
// event reports when that changes.
func (l *loop) sensedEarly(e *entry, reading runtime.Reading, err error) {
	s := &e.sensing
	l.senseAt(e, l.now().Add(startGap))
	if err != nil {
		return // it does not exist yet, or cannot be read yet
	}
	if q := reading.Pending; q != nil && q.Metadata[runtime.MetaWhy] == "" {
		reading.Pending = nil
	}
	l.handleQuestion(e, reading.Pending)
	s.readAt = cmp.Or(reading.At, l.now())
}

// handleEnd takes the word of the agent's own side that it has ended. Its place is looked at
// then, and shows the state.
func (l *loop) handleEnd(e *entry, end *runtime.End) {
	if (e.sensing.ended == nil) != (end == nil) {
		e.stale, e.observeAt, l.dirty = true, time.Time{}, true
	}
	e.sensing.ended = end
}

// handleQuestion takes what blocks the agent, nil if nothing does.
func (l *loop) handleQuestion(e *entry, question *runtime.PendingInteraction) {
	if explain.Asked(e.sensing.pending) != explain.Asked(question) {
		l.edge(e)
	}
	e.sensing.pending = question
}

// handleStatus takes the program's own words of a driver that cannot be asked.
func (l *loop) handleStatus(e *entry, words string) {
	if !e.sensing.unsupported {
		e.sensing.statusText = words // if it turns out that the driver cannot be asked
		l.sense(e)
		return
	}
	e.sensing.senses.Push(runtime.Evidence{Source: runtime.SourceStatus, Activity: ops.ActivityOf(words), At: l.now(), Detail: words})
	e.sensing.readAt = l.now()
	l.conclude(e)
}

// rules bound how long evidence is relied on: as long as nothing is pushed that
// would change it, or for a few patrols where nothing can be pushed.
func (p *backend) rules(s Settings) session.Rules {
	if p.streams {
		return session.Rules{Stale: pushedStale, StalePushed: pushedStale}
	}
	return session.Rules{Stale: 4 * s.Patrol}
}

// conclude draws the activity from all evidence and reports what is new about
// it.
func (l *loop) conclude(e *entry) {
	s := &e.sensing
	now, before := l.now(), s.activity
	var next time.Time
	s.activity, s.judged, next = session.Fuse(&s.senses, now, e.backend.rules(l.settings()))
	if !next.IsZero() {
		l.senseAt(e, next)
	}
	l.markUnpublished(e)
	if open := ops.StillOpen(e.rec.Warning, s.activity.State); s.pending == nil && open != e.rec.Warning {
		e.rec.Warning = open
		e.touch()
		l.edge(e)
	}
	other := s.activity.State != before.State
	if other {
		s.unknownAt = now
		s.stall.progress("the change to "+string(s.activity.State), now)
	}
	l.obstacle(e)
	if !other && s.activity.Kind == before.Kind && s.activity.Until.Equal(before.Until) {
		return
	}
	l.edge(e)
	if other {
		l.announce(e)
	}
}
