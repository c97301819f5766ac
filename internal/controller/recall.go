package controller

import (
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/controller/persist"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// remember takes over what the store held. While nothing could be read nothing is
// looked at and nothing is done: a session that somebody put to sleep would be
// started, and a budget spent twice. A record that is there and cannot be read
// delays no other record: its session is treated as one without a record.
func (l *loop) remember(r persist.Recalled) {
	if errors.Is(r.Err, client.ErrUnavailable) {
		l.unread = fmt.Sprintf("the store's records cannot be read: %v", r.Err)
		l.recallAt = l.now().Add(persist.Again)
		return
	}
	if r.Err != nil {
		l.c.opts.Logger.Warn("some session records cannot be read", "error", r.Err)
	}
	l.unread = ""
	for i := range r.Records {
		l.recollect(r.Records[i])
	}
}

// recollect makes the entry of one stored record.
func (l *loop) recollect(r session.Record) {
	e := l.entries[r.Key()]
	if e == nil {
		e = l.add(l.backendFor(r.Provider), r.Session)
	}
	agent := e.rec.Agent
	e.rec = r
	e.version, e.queued, e.stored = 1, 1, 1
	e.rec.Token, e.rec.Handle = "", "" // they are read from the session itself
	if !e.rec.State.IsValid() && e.rec.State != "" {
		repaired, reason := session.Repair(string(e.rec.State), session.Facts{Draining: e.rec.IsDraining(), Hold: e.rec.Hold.Kind})
		l.c.opts.Logger.Warn("a session record was repaired", "session", r.Session, "reason", reason)
		e.rec.State, e.rec.StateSince = repaired, l.now()
		e.touch()
	}
	if e.rec.State == client.StateStopping {
		e.rec.Running = false // its end was wanted, and who observed it does not matter
	}
	if agent != "" && agent != e.rec.Agent {
		e.rec.Agent = agent
		e.touch()
	}
	if l.c.opts.Retry && (len(e.rec.Failures) > 0 || e.rec.Fault != "" || !e.rec.NextAt.IsZero()) && e.rec.Obstacle.Kind != runtime.ObstacleLimit {
		e.rec.ResetFailures()
		e.touch()
	}
}

// recallAgain tries to read the records that could not be read.
func (l *loop) recallAgain() {
	if l.unread == "" || l.recalling || l.ending != nil {
		return
	}
	if l.now().Before(l.recallAt) {
		l.wakeAt(l.recallAt)
		return
	}
	l.recalling = true
	l.spawn(persist.Limit, func(ctx context.Context) func() {
		r := persist.Recall(ctx, l.c.opts.Records)
		return func() {
			l.recalling = false
			if l.ending == nil {
				l.remember(r)
			}
		}
	})
}

// save passes the newest state of a record to the saver.
func (l *loop) save(e *entry) {
	if e.version == e.queued || l.unread != "" {
		return
	}
	e.queued = e.version
	e.rec.UpdatedAt = l.now()
	rec := e.rec // what it points to is replaced and never changed
	if e.asked != nil {
		e.asked.Apply(&rec)
	}
	l.saver.Put(persist.Change{Record: rec, Version: e.version})
}

// life records in the history how the present instance ended.
func (l *loop) life(e *entry, reason string) {
	r, life := &e.rec, session.InstanceRecord{Reason: reason}
	life.Session, life.Provider, life.Epoch, life.Instance = r.Session, r.Provider, r.Epoch, r.Instance
	if life.StartedAt = r.StartedAt; reason != "" {
		life.Exit, life.EndedAt = r.Exit, l.now()
		r.Former = &session.EndRecord{Epoch: r.Epoch, At: life.EndedAt, Exit: r.Exit, Reason: reason, Screen: r.Screen}
		e.touch()
	}
	l.saver.PutLife(life)
}

// forget drops an entry that means nothing any more.
func (l *loop) forget(e *entry) {
	delete(l.entries, e.rec.Key())
	if l.unread == "" && e.version > 0 {
		e.touch()
		l.saver.Put(persist.Change{Record: e.rec, Version: e.version, Remove: true})
	}
}

// stored records the result of a write.
func (l *loop) stored(key session.Key, version uint64, err error) {
	l.dirty = true
	e := l.entries[key]
	switch {
	case err != nil:
		if e == nil || e.saveFault == "" {
			l.c.opts.Logger.Error("cannot save a session record", "session", key.Session, "error", err)
		}
		if e != nil {
			e.saveFault = err.Error()
		}
	case e != nil:
		e.stored, e.saveFault = max(e.stored, version), ""
		l.enforce(e)
	}
}

// durable reports whether the store has the entry's record as it is.
func (e *entry) durable() bool { return e.stored >= e.version }

// touch records that the record has changed.
func (e *entry) touch() {
	*e.versions++
	e.version = *e.versions
}

// judgeStore freezes what destroys and what starts as long as the store cannot
// be relied on.
func (l *loop) judgeStore() {
	fault, again := l.saver.Health()
	if l.unread != "" {
		fault = l.unread
	}
	if fault == "" && l.c.opts.StoreFault != nil {
		if err := l.c.opts.StoreFault(); err != nil {
			fault = fmt.Sprintf("the store is at fault: %v", err)
		}
	}
	l.wakeAt(again)
	before := l.frozen
	l.frozen = fault
	switch {
	case before == "" && fault != "":
		l.c.emit(event.ControllerDegraded, nil, "the store cannot be relied on: nothing is started or ended", map[string]string{"error": fault})
	case before != "" && fault == "":
		l.c.emit(event.ControllerRecovered, nil, "the store can be relied on again", nil)
	}
}

// StoreChanged reports that Options.StoreFault answers otherwise than before. It
// never blocks.
func (c *Controller) StoreChanged() {
	c.storeChanged.Store(true)
	select {
	case c.calls <- func(*loop) {}:
	default: // what is in the mail leads to a turn
	}
}
