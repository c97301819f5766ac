package questions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// Run works until ctx ends, and returns nil when all goroutines that it started have returned. It
// must be called once.
func (d *Service) Run(ctx context.Context) error {
	defer d.life.SetEnded()
	if !d.load(ctx) {
		return nil
	}
	d.life.SetLoaded()
	var jobs sync.WaitGroup
	defer jobs.Wait()
	r := &loop{d, &jobs}
	for _, v := range d.opts.City.Snapshots() {
		r.evaluate(ctx, v.Session)
	}
	engine.Loop(ctx, d.opts.Now, d.due.Woken(), func(due bool) time.Time {
		if due {
			d.recheckAll()
		}
		for _, name := range d.due.PopAll() {
			r.evaluate(ctx, name)
		}
		return r.saveUnsaved(ctx)
	})
	return nil
}

// loop has the methods that only the goroutine of Run uses, for deadlines and alerts.
type loop struct {
	*Service
	jobs *sync.WaitGroup
}

// load reads the stored questions. It returns false if ctx ends first. Of two open questions of one session, the older one is
// moved to the history.
func (d *Service) load(ctx context.Context) bool {
	kept, err := engine.Load(ctx, d.opts.Store.LoadPending, func(err error) {
		d.opts.Logger.Warn("cannot read the pending questions yet", "error", err)
	})
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		d.opts.Logger.Warn("cannot read some pending questions", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range kept {
		if p.State != client.PendingOpen || p.Session == "" {
			d.history = append(d.history, p)
			continue
		}
		if e := d.entries[p.Session]; e != nil { // a second open question of a session is invalid: the later one counts
			d.history = append(d.history, finish(*e.Open, client.PendingResolved, d.opts.Now()))
		}
		d.entries[p.Session] = &entry{QuestionState: QuestionState{Open: &p}, done: make(chan struct{})}
		d.SessionChanged(p.Session)
	}
	slices.SortStableFunc(d.history, func(a, b session.Pending) int { return a.EndedAt.Compare(b.EndedAt) })
	d.pruneLocked()
	d.publishLocked()
	return true
}

// recheckAll makes the service read every session with an open question again.
func (d *Service) recheckAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.entries {
		d.SessionChanged(name)
	}
}

// evaluate reads the snapshot of a session, updates its questions, and does what is due for them.
func (r *loop) evaluate(ctx context.Context, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, known := r.foldLocked(ctx, name)
	if e := r.entries[name]; e != nil && e.Open != nil && !e.answering {
		r.runDueLocked(ctx, e, v, known)
	}
}

// foldLocked reads the snapshot of a session, updates its questions from it, and returns it. known is false if the state of the
// session is unknown. The caller holds mu.
func (d *Service) foldLocked(ctx context.Context, name string) (v session.Snapshot, known bool) {
	v, err := d.opts.City.Snapshot(name)
	known = err == nil && v.Unknown == ""
	e := d.entries[name]
	switch {
	case e == nil && (err != nil || v.Question() == nil):
		return v, known
	case e == nil:
		e = &entry{}
		d.entries[name] = e
	case e.answering:
		return v, known
	}
	if err != nil {
		d.absentLocked(ctx, name, err)
		return v, known
	}
	e.absentSince = time.Time{}
	d.applyLocked(ctx, e, v)
	if e.Open == nil && v.Question() == nil {
		delete(d.entries, name) // a later question creates a new entry
	}
	return v, known
}

// applyLocked applies a snapshot to an entry, and saves and reports the changes.
func (d *Service) applyLocked(ctx context.Context, e *entry, v session.Snapshot) {
	next, ended := Fold(e.QuestionState, v, d.opts.Policy(v.Agent), d.opts.Now())
	renewed := e.Open != nil && next.Open != e.Open && next.Open != nil && next.Open.ID == e.Open.ID
	e.QuestionState = next
	if renewed { // only a displayed time changed: it is saved with the next change
		d.publishLocked()
	}
	for _, p := range ended {
		d.endLocked(ctx, e, p)
	}
	if e.Open != nil && e.Open.ID == "" {
		d.raiseLocked(ctx, e)
	}
}

// raiseLocked assigns an ID to a new question, saves it and reports it.
func (d *Service) raiseLocked(ctx context.Context, e *entry) {
	e.Open.ID = d.newID()
	e.done, e.policyRunning, e.policyTries, e.policyRetryAt = make(chan struct{}), false, 0, time.Time{}
	d.saveLocked(ctx, *e.Open)
	d.publishLocked()
	d.emit(ctx, event.PendingRaised, *e.Open, fmt.Sprintf("%s asks: %s", e.Open.Agent, headline(*e.Open)), raised(*e.Open))
}

// endLocked moves a question that has ended to the history, saves it and reports it.
func (d *Service) endLocked(ctx context.Context, e *entry, p session.Pending) {
	d.history = append(d.history, p)
	d.pruneLocked()
	d.saveLocked(ctx, p)
	d.publishLocked()
	d.emitEnd(ctx, p)
	if e.done != nil {
		close(e.done)
		e.done = nil
	}
}

// absentLocked handles err, the error from reading the snapshot of a session with an entry. If the city does not know the session
// for [absentGrace], its question ends. It does not end at once, because a new controller does not know all sessions yet. The
// caller holds mu.
func (d *Service) absentLocked(ctx context.Context, name string, err error) {
	now, e := d.opts.Now(), d.entries[name]
	switch {
	case !errors.Is(err, client.ErrNotFound):
		e.absentSince = time.Time{}
	case e.absentSince.IsZero():
		e.absentSince = now
	case now.Sub(e.absentSince) < absentGrace:
	case e.Open != nil:
		p := finish(*e.Open, client.PendingGone, now)
		e.Open = nil
		d.endLocked(ctx, e, p)
		fallthrough
	default:
		delete(d.entries, name)
	}
}

// newID returns a short ID that no stored question has.
func (d *Service) newID() string {
	return engine.NewID("q-", d.opts.Random, func(id string) bool {
		return slices.ContainsFunc(*d.published.Load(), func(p client.Pending) bool { return p.ID == id })
	})
}

// pruneLocked removes the oldest ended questions from the history.
func (d *Service) pruneLocked() {
	now := d.opts.Now()
	for len(d.history) > maxEnded || len(d.history) > 0 && now.Sub(d.history[0].EndedAt) > endedRetention {
		d.toDelete[d.history[0].ID] = struct{}{}
		d.saver.Forget(d.history[0].ID)
		d.history = slices.Delete(d.history, 0, 1)
	}
}

// saveLocked saves a question. If the store fails, the question is shown all the same and saved later.
func (d *Service) saveLocked(ctx context.Context, p session.Pending) {
	d.saver.Save(ctx, p.ID, p)
	if !d.saver.Due().IsZero() {
		d.due.Wake()
	}
}

// storeLocked writes a question to the store. Before that, it deletes the questions that could not be deleted yet.
func (d *Service) storeLocked(ctx context.Context, p session.Pending) error {
	for id := range d.toDelete {
		if err := d.opts.Store.RemovePending(ctx, id); err != nil {
			break // it is tried again later
		}
		delete(d.toDelete, id)
	}
	return d.opts.Store.SavePending(ctx, p)
}
