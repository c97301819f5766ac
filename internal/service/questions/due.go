package questions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// forever is a pause that ends with the next look.
const forever = 1000 * time.Hour

// dueLocked does what the time has come for: the first alert, and the policy at
// the deadline.
func (r *run) dueLocked(ctx context.Context, e *entry, v session.View, known bool) {
	d, now := r.desk, r.desk.opts.Now()
	if e.Open.Notified.IsZero() && known && v.Attached < 1 {
		d.changeLocked(ctx, e, func(p *session.Pending) { p.Notified = now })
		r.alert(ctx, *e.Open)
	}
	p := e.Open
	if p.Deadline.IsZero() || now.Before(p.Deadline) || e.acting || e.underway() {
		return
	}
	switch {
	case p.Policy == Escalate:
		r.escalateLocked(ctx, e, "")
	case e.tries >= policyMost, e.tries > 0 && now.Before(e.again):
	case v.Attached > 0:
		e.again = now.Add(policyWait)
		r.escalateLocked(ctx, e, "a person is attached, so the policy waits")
	case !known:
		e.again = now.Add(policyWait)
	default:
		e.acting = true
		e.tries++
		e.again = now.Add(policyWait)
		id, name := p.ID, p.Session
		r.jobs.Go(func() { r.carryOut(ctx, name, id) })
	}
}

// escalateLocked notifies people once more, once.
func (r *run) escalateLocked(ctx context.Context, e *entry, reason string) {
	if !e.Open.Escalated.IsZero() {
		return
	}
	d := r.desk
	now := d.opts.Now()
	d.changeLocked(ctx, e, func(p *session.Pending) {
		p.Escalated = now
		if p.Notified.IsZero() {
			p.Notified = now
		}
	})
	data := map[string]string{"id": e.Open.ID, "kind": e.Open.Kind}
	if reason != "" {
		data["reason"] = reason
	}
	d.emit(event.PendingEscalated, *e.Open, fmt.Sprintf("%s still waits for an answer: %s", e.Open.Agent, headline(*e.Open)), data)
	r.alert(ctx, *e.Open)
}

// carryOut gives the policy's answer. What cannot be done is escalated, and
// tried again a few times.
func (r *run) carryOut(ctx context.Context, name, id string) {
	d := r.desk
	_, err := d.answer(ctx, id, carriedOut, byPolicy)
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[name]
	if e == nil || e.Open == nil || e.Open.ID != id {
		return
	}
	e.acting = false
	if err != nil && ctx.Err() == nil {
		d.opts.Logger.Warn("cannot apply the policy for a question", "pending", id, "agent", e.Open.Agent, "error", err)
		r.escalateLocked(ctx, e, err.Error())
	}
	d.due.Wake()
}

// changeLocked replaces the open episode: shown ones are never changed.
func (d *Desk) changeLocked(ctx context.Context, e *entry, change func(*session.Pending)) {
	next := *e.Open
	change(&next)
	e.Open = &next
	d.saveLocked(ctx, next)
	d.publishLocked()
}

func (r *run) alert(ctx context.Context, p session.Pending) {
	if r.desk.opts.Notify != nil {
		r.desk.alerts.add(ctx, r.jobs, show(p))
	}
}

// settle saves what is still to be saved and returns how long nothing is due.
func (r *run) settle(ctx context.Context) time.Duration {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.opts.Now()
	next := now.Add(forever)
	for _, id := range slices.Sorted(maps.Keys(d.unsaved)) {
		if now.Before(d.saveAt) {
			next = earlier(next, d.saveAt)
			break
		}
		d.saveLocked(ctx, d.unsaved[id])
	}
	if len(d.unsaved) > 0 {
		next = earlier(next, d.saveAt)
	}
	for _, e := range d.entries {
		next = earlier(next, e.next())
	}
	return max(0, next.Sub(now))
}

// next is when the entry is to be looked at again if nothing happens.
func (e *entry) next() time.Time {
	if e.sending || e.acting || e.Open == nil {
		return time.Time{}
	}
	if !e.absent.IsZero() {
		return e.absent.Add(absentFor)
	}
	p := e.Open
	switch {
	case p.Deadline.IsZero() || e.underway():
	case p.Policy == Escalate && p.Escalated.IsZero():
		return p.Deadline
	case p.Policy == Escalate:
	case e.tries < policyMost:
		return later(p.Deadline, e.again)
	}
	return time.Time{}
}

// earlier returns the earlier time; zero is never.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
