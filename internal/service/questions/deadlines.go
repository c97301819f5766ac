package questions

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// runDueLocked does what is due now for the open question of a session: it notifies people for the first time, or applies the
// policy after the deadline. known is false if the state of the session is unknown. The caller holds mu.
func (r *loop) runDueLocked(ctx context.Context, e *entry, v session.Snapshot, known bool) {
	now := r.opts.Now()
	if e.Open.Notified.IsZero() && known && v.Attached < 1 {
		r.changeLocked(ctx, e, func(p *session.Pending) { p.Notified = now })
		r.alert(ctx, *e.Open)
	}
	p := e.Open
	if p.Deadline.IsZero() || now.Before(p.Deadline) || e.policyRunning || e.isAnswerPending() {
		return
	}
	switch {
	case p.Policy == Escalate:
		r.escalateLocked(ctx, e, "")
	case e.policyTries >= maxPolicyTries, e.policyTries > 0 && now.Before(e.policyRetryAt):
	case v.Attached > 0:
		e.policyRetryAt = now.Add(policyRetryDelay)
		r.escalateLocked(ctx, e, "a person is attached, so the policy waits")
	case !known:
		e.policyRetryAt = now.Add(policyRetryDelay)
	default:
		e.policyRunning = true
		e.policyTries++
		e.policyRetryAt = now.Add(policyRetryDelay)
		id, name := p.ID, p.Session
		r.jobs.Go(func() { r.applyPolicy(ctx, name, id) })
	}
}

// escalateLocked notifies people again that a question waits, or for the first time if nothing notified them yet. It
// does nothing if the question is already escalated.
func (r *loop) escalateLocked(ctx context.Context, e *entry, reason string) {
	if !e.Open.Escalated.IsZero() {
		return
	}
	now := r.opts.Now()
	r.changeLocked(ctx, e, func(p *session.Pending) {
		p.Escalated = now
		if p.Notified.IsZero() {
			p.Notified = now
		}
	})
	data := map[string]string{"id": e.Open.ID, "kind": e.Open.Kind}
	if reason != "" {
		data["reason"] = reason
	}
	r.emit(ctx, event.PendingEscalated, *e.Open, fmt.Sprintf("%s still waits for an answer: %s", e.Open.Agent, headline(*e.Open)), data)
	r.alert(ctx, *e.Open)
}

// applyPolicy answers a question after its deadline with the answer of the configured policy. If that fails, people are notified
// again, and the answer is tried again later, at most [maxPolicyTries] times in all.
func (r *loop) applyPolicy(ctx context.Context, name, id string) {
	_, err := r.answer(ctx, id, policyAnswer, byPolicy)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[name]
	if e == nil || e.Open == nil || e.Open.ID != id {
		return
	}
	e.policyRunning = false
	if err != nil && ctx.Err() == nil {
		r.opts.Logger.Warn("cannot apply the policy for a question", "pending", id, "agent", e.Open.Agent, "error", err)
		r.escalateLocked(ctx, e, err.Error())
	}
	r.due.Wake()
}

// changeLocked applies change to a copy of the open question, makes the copy the open question, and saves it. It uses a copy
// because callers may still read the old one. The caller holds mu.
func (d *Service) changeLocked(ctx context.Context, e *entry, change func(*session.Pending)) {
	next := *e.Open
	change(&next)
	e.Open = &next
	d.saveLocked(ctx, next)
	d.publishLocked()
}

// saveUnsaved tries again to save the questions that could not be saved. It returns the time at which the service has something to
// do next; zero if it has nothing to do until something changes.
func (r *loop) saveUnsaved(ctx context.Context) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saver.Retry(ctx)
	next := r.saver.Due()
	for _, e := range r.entries {
		next = engine.Earlier(next, e.nextCheck())
	}
	return next
}

// nextCheck returns when the entry must be checked if nothing changes; zero: no check is needed.
func (e *entry) nextCheck() time.Time {
	if e.answering || e.policyRunning || e.Open == nil {
		return time.Time{}
	}
	if !e.absentSince.IsZero() {
		return e.absentSince.Add(absentGrace)
	}
	if e.Read.IsZero() && !e.waits.IsZero() {
		return e.waits.Add(firstReadingLimit)
	}
	p := e.Open
	switch {
	case p.Deadline.IsZero() || e.isAnswerPending():
	case p.Policy == Escalate && p.Escalated.IsZero():
		return p.Deadline
	case p.Policy == Escalate:
	case e.policyTries < maxPolicyTries:
		return engine.Later(p.Deadline, e.policyRetryAt)
	}
	return time.Time{}
}
