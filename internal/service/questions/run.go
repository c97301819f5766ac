package questions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// Run keeps the desk until ctx ends, and returns nil when what it started has
// ended too. It is called once.
func (d *Desk) Run(ctx context.Context) error {
	defer close(d.ended)
	if !d.load(ctx) {
		return nil
	}
	close(d.loaded)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	r := &run{desk: d, jobs: &jobs}
	for _, v := range d.opts.City.Views() {
		r.look(ctx, v.Session)
	}
	for {
		for _, name := range d.due.Take() {
			r.look(ctx, name)
		}
		next := r.settle(ctx)
		timer := time.NewTimer(next)
		select {
		case <-d.due.Woken():
		case <-timer.C:
			d.lookAgain()
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// run is what only the loop does: deadlines and alerts.
type run struct {
	desk *Desk
	jobs *sync.WaitGroup
}

// load reads the store; it is false if ctx ended first. Episodes that make no
// sense are left to the next reading of their sessions.
func (d *Desk) load(ctx context.Context) bool {
	kept, err := d.read(ctx)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		d.opts.Logger.Warn("some pending questions cannot be read", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range kept {
		if p.State != client.PendingOpen || p.Session == "" {
			d.old = append(d.old, p)
			continue
		}
		if e := d.entries[p.Session]; e != nil { // cannot be: the later one counts
			d.old = append(d.old, finish(*e.Open, client.PendingResolved, d.opts.Now()))
		}
		d.entries[p.Session] = &entry{Case: Case{Open: &p}, over: make(chan struct{})}
		d.Look(p.Session)
	}
	slices.SortStableFunc(d.old, func(a, b session.Pending) int { return a.EndedAt.Compare(b.EndedAt) })
	d.pruneLocked()
	d.publishLocked()
	return true
}

const (
	// readFirst and readMost space the tries to read a store that does not answer.
	readFirst = 100 * time.Millisecond
	readMost  = 5 * time.Second
)

// read returns what the store keeps, however often it does not answer, until ctx
// ends.
func (d *Desk) read(ctx context.Context) ([]session.Pending, error) {
	for gap := readFirst; ; gap = min(2*gap, readMost) {
		kept, err := d.opts.Store.LoadPending(ctx)
		if !errors.Is(err, client.ErrUnavailable) {
			return kept, err
		}
		d.opts.Logger.Warn("the pending questions cannot be read yet", "error", err)
		select {
		case <-time.After(gap):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lookAgain marks every session with an open question.
func (d *Desk) lookAgain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.entries {
		d.Look(name)
	}
}

// look folds what is known of a session, and does what is due there.
func (r *run) look(ctx context.Context, name string) {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	v, known := d.foldLocked(ctx, name)
	if e := d.entries[name]; e != nil && e.Open != nil && !e.sending {
		r.dueLocked(ctx, e, v, known)
	}
}

// foldLocked reads the view of a session and folds it. known is false if nothing
// is known of it.
func (d *Desk) foldLocked(ctx context.Context, name string) (v session.View, known bool) {
	v, err := d.opts.City.View(name)
	known = err == nil && v.Unknown == ""
	e := d.entries[name]
	switch {
	case e == nil && (err != nil || v.Question() == nil):
		return v, known
	case e == nil:
		e = &entry{}
		d.entries[name] = e
	case e.sending:
		return v, known
	}
	if err != nil {
		d.absentLocked(ctx, e, err)
		return v, known
	}
	e.absent = time.Time{}
	d.takeLocked(ctx, e, v)
	if e.Open == nil && v.Question() == nil {
		delete(d.entries, name) // a later reading shows what it shows
	}
	return v, known
}

// takeLocked folds a view into an entry, and saves and reports what changed.
func (d *Desk) takeLocked(ctx context.Context, e *entry, v session.View) {
	next, ended := Fold(e.Case, v, d.opts.Policy(v.Agent), d.opts.Now())
	renewed := e.Open != nil && next.Open != e.Open && next.Open != nil && next.Open.ID == e.Open.ID
	e.Case = next
	if renewed { // it is saved with the next change: any reading shows the time
		d.publishLocked()
	}
	for _, p := range ended {
		d.endLocked(ctx, e, p)
	}
	if e.Open != nil && e.Open.ID == "" {
		d.raiseLocked(ctx, e)
	}
}

func (d *Desk) raiseLocked(ctx context.Context, e *entry) {
	e.Open.ID = d.newID()
	e.over, e.acting, e.tries, e.again = make(chan struct{}), false, 0, time.Time{}
	d.saveLocked(ctx, *e.Open)
	d.publishLocked()
	d.emit(event.PendingRaised, *e.Open, fmt.Sprintf("%s asks: %s", e.Open.Agent, headline(*e.Open)), raised(*e.Open))
}

// endLocked keeps an episode that has ended.
func (d *Desk) endLocked(ctx context.Context, e *entry, p session.Pending) {
	d.old = append(d.old, p)
	d.pruneLocked()
	d.saveLocked(ctx, p)
	d.publishLocked()
	d.emitEnd(p)
	if e.over != nil {
		close(e.over)
		e.over = nil
	}
}

// absentLocked notes that the city does not know the session. Only after a time
// it is over: a controller that has just begun does not know everything yet.
func (d *Desk) absentLocked(ctx context.Context, e *entry, err error) {
	now := d.opts.Now()
	switch {
	case !errors.Is(err, client.ErrNotFound):
		e.absent = time.Time{}
	case e.absent.IsZero():
		e.absent = now
	case now.Sub(e.absent) < absentFor:
	case e.Open != nil:
		p := finish(*e.Open, client.PendingGone, now)
		e.Open = nil
		d.endLocked(ctx, e, p)
		fallthrough
	default:
		d.dropLocked(e)
	}
}

func (d *Desk) dropLocked(gone *entry) {
	for name, e := range d.entries {
		if e == gone {
			delete(d.entries, name)
		}
	}
}

// newID returns an ID that no kept episode has: short enough to type.
func (d *Desk) newID() string {
	for {
		id := "q-" + strings.ToLower(d.opts.Random()[:8])
		if !slices.ContainsFunc(*d.shown.Load(), func(p client.Pending) bool { return p.ID == id }) {
			return id
		}
	}
}

// pruneLocked forgets the oldest ends.
func (d *Desk) pruneLocked() {
	now := d.opts.Now()
	for len(d.old) > keepCount || len(d.old) > 0 && now.Sub(d.old[0].EndedAt) > keepEnded {
		d.forget[d.old[0].ID] = struct{}{}
		delete(d.unsaved, d.old[0].ID)
		d.old = slices.Delete(d.old, 0, 1)
	}
}

// saveLocked makes an episode durable. One that the store does not take now is
// shown all the same, and saved later.
func (d *Desk) saveLocked(ctx context.Context, p session.Pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	for id := range d.forget {
		if err := d.opts.Store.RemovePending(ctx, id); err != nil {
			break // later
		}
		delete(d.forget, id)
	}
	if err := d.opts.Store.SavePending(ctx, p); err != nil {
		if len(d.unsaved) == 0 {
			d.opts.Logger.Error("cannot keep a question", "pending", p.ID, "error", err)
		}
		d.unsaved[p.ID] = p
		d.saveAt = d.opts.Now().Add(saveEvery)
		d.due.Wake()
		return
	}
	delete(d.unsaved, p.ID)
}
