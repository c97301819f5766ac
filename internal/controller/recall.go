package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// loadRecords creates an entry for each stored record. If the store could not be read at all, gc
// only observes until a later attempt succeeds: without the records it would start a session that
// was put to sleep. If single records are unreadable, gc logs that and treats their sessions as
// sessions without a record.
func (l *loop) loadRecords(r storedRecords) {
	if errors.Is(r.Err, client.ErrUnavailable) {
		l.unread = fmt.Sprintf("the store's records cannot be read: %v", r.Err)
		l.recallAt = l.now().Add(storeRetryDelay)
		return
	}
	if r.Err != nil {
		l.c.opts.Logger.Warn("some session records cannot be read", "error", r.Err)
	}
	l.unread = ""
	for i := range r.Records {
		l.loadRecord(r.Records[i])
	}
}

// loadRecord creates or updates the entry of one stored record.
func (l *loop) loadRecord(r session.Record) {
	e := l.entries[r.Key()]
	if e == nil {
		e = l.add(l.backendFor(r.Provider), r.Session)
	}
	agent := e.rec.Agent
	e.rec = r
	e.version, e.queued, e.stored = 1, 1, 1
	e.rec.Token = "" // it is read from the session
	if !e.rec.State.IsValid() && e.rec.State != "" {
		l.c.opts.Logger.Warn("a session record was repaired", "session", r.Session, "reason", fmt.Sprintf("the stored state %q is not valid", string(r.State)))
		e.rec.State, e.rec.StateSince = session.StateUnknown, l.now()
		e.touch()
	}
	if e.rec.State == client.StateStopping {
		e.rec.Running = false // its end was requested, so it is no failure
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

// retryLoadRecords tries again to read the records that could not be read.
func (l *loop) retryLoadRecords() {
	if l.unread == "" || l.recalling || l.ending != nil {
		return
	}
	if l.now().Before(l.recallAt) {
		l.wakeAt(l.recallAt)
		return
	}
	l.recalling = true
	l.spawn(storeTimeout, func(ctx context.Context) func() {
		r := readRecords(ctx, l.c.opts.Records)
		return func() {
			l.recalling = false
			if l.ending == nil {
				l.loadRecords(r)
			}
		}
	})
}

// save passes the current record to the saver if it has changed.
func (l *loop) save(e *entry) {
	if e.version == e.queued || l.unread != "" {
		return
	}
	e.queued = e.version
	e.rec.UpdatedAt = l.now()
	rec := e.rec // a shallow copy is enough: pointer targets are replaced, never changed
	if e.asked != nil {
		e.asked.apply(&rec)
	}
	l.saver.Put(unsavedRecord{Record: rec, Version: e.version})
}

// recordEnd stores in the record when, how and why the current instance stopped.
func (l *loop) recordEnd(e *entry, reason string) {
	r := &e.rec
	r.Former = &session.EndRecord{Epoch: r.Epoch, At: l.now(), Exit: r.Exit, Reason: reason, Screen: r.Screen}
	e.touch()
}

// remove removes an entry and deletes its record from the store.
func (l *loop) remove(e *entry) {
	delete(l.entries, e.rec.Key())
	if l.unread == "" && e.version > 0 {
		e.touch()
		l.saver.Put(unsavedRecord{Record: e.rec, Version: e.version, Remove: true})
	}
}

// stored applies the result of a write: err is nil if the store has saved this version of the
// record.
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
		l.applySaved(e)
	}
}

// durable reports whether the store has saved the current version of the entry's record.
func (e *entry) durable() bool { return e.stored >= e.version }

// touch sets a new version number for the record, so that the next pass saves it.
func (e *entry) touch() {
	*e.versions++
	e.version = *e.versions
}

// checkStore checks whether the store works. While it fails, l.frozen has the reason, and gc starts
// and stops nothing.
func (l *loop) checkStore() {
	fault, again := l.saver.Health()
	fault = cmp.Or(l.unread, fault)
	if fault == "" {
		if err := l.c.opts.StoreFault(); err != nil {
			fault = fmt.Sprintf("the store fails: %v", err)
		}
	}
	l.wakeAt(again)
	before := l.frozen
	l.frozen = fault
	switch {
	case before == "" && fault != "":
		l.emit(event.ControllerDegraded, nil, "the store fails; until it works again, gc starts and stops no agent", map[string]string{"error": fault})
	case before != "" && fault == "":
		l.emit(event.ControllerRecovered, nil, "the store works again", nil)
	}
}

// StoreChanged notifies the loop that the result of Options.StoreFault has changed. It never
// blocks.
func (c *Controller) StoreChanged() {
	c.storeChanged.Store(true)
	select {
	case c.calls <- func(*loop) {}:
	default: // the channel is full, so a turn follows anyway
	}
}
