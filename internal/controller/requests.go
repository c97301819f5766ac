package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// asked is a request about a session, such as sleep, whose result is not stored yet. Until the
// store has saved it, the request has no effect.
type asked struct {
	before, after session.Record // the record without and with the change
	out           orderOutcome
	version       uint64 // of the first record that has the change
	saved         bool
}

// apply copies the fields that the request changed to r, the current record. r may be newer than
// before, so all other fields of r stay.
func (a *asked) apply(r *session.Record) {
	from, to := &a.before, &a.after
	if from.Hold != to.Hold {
		r.Hold = to.Hold
	}
	if from.Drain != to.Drain {
		r.Drain = to.Drain
	}
	if from.Renew != to.Renew {
		r.Renew = to.Renew
	}
	if from.Obstacle.ProbeAt != to.Obstacle.ProbeAt && from.Obstacle.Kind == r.Obstacle.Kind {
		r.Obstacle.Probes, r.Obstacle.ProbeAt, r.Obstacle.Released = to.Obstacle.Probes, to.Obstacle.ProbeAt, to.Obstacle.Released
	}
	if from.Obstacle.Kind != "" && to.Obstacle.Kind == "" {
		r.Obstacle = session.Obstacle{}
	}
	if from.Conversation != to.Conversation && r.Conversation.ID == from.Conversation.ID {
		r.Conversation.Closed, r.Conversation.Former = to.Conversation.Closed, to.Conversation.Former
	}
	if !slices.Equal(from.Failures, to.Failures) || from.Fault != to.Fault || from.NextAt != to.NextAt {
		r.Failures, r.Streak, r.NextAt, r.Fault = to.Failures, to.Streak, to.NextAt, to.Fault
	}
}

// runOrder runs the request do about the session with this name. It returns after the store has
// saved the result. If the store fails, nothing is changed and it returns an error.
func (c *Controller) runOrder(ctx context.Context, name string, req client.LifecycleRequest, do order) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) { l.runOrder(name, req, do, answer) })
}

// runOrder runs a request about a session. If an earlier request about the session is not stored
// yet, this one waits for it, so that it sees its result.
func (l *loop) runOrder(name string, req client.LifecycleRequest, do order, answer func(client.Done, error)) {
	e, err := l.findForRequest(name, req.Instance)
	if err != nil {
		answer(client.Done{}, err)
		return
	}
	if e.asked != nil {
		l.waiters = append(l.waiters, func() bool {
			if e.asked != nil {
				return false
			}
			l.runOrder(name, req, do, answer)
			return true
		})
		return
	}
	c := &orderCase{
		Record: e.rec, Session: l.configured(e), Action: e.action, Now: l.now(), Running: e.running(), Unknown: e.unknown(),
	}
	out, err := do(c, req)
	done := client.Done{Session: e.rec.Session, Changed: out.Changed, Detail: out.Detail}
	switch {
	case err != nil:
		answer(client.Done{}, err)
	case !out.Save:
		l.applyOutcome(e, &out)
		answer(done, nil)
	case l.frozen != "":
		answer(client.Done{}, l.notSavedError())
	default:
		e.touch()
		e.asked = &asked{before: e.rec, after: c.Record, out: out, version: e.version}
		l.awaitSaved(e, done, answer)
	}
}

// awaitSaved calls answer when the store has saved the result of the request: with done. If the
// store fails or the controller exits before that, it undoes the request and calls answer with an
// error.
func (l *loop) awaitSaved(e *entry, done client.Done, answer func(client.Done, error)) {
	a := e.asked
	l.dirty = true
	l.waiters = append(l.waiters, func() bool {
		switch {
		case a.saved:
			answer(done, nil)
		case l.frozen != "" || l.exiting || l.entries[e.rec.Key()] != e:
			e.asked = nil
			e.touch() // overwrite the result in case the store saved it anyway
			answer(client.Done{}, l.notSavedError())
		default:
			return false
		}
		return true
	})
}

// notSavedError returns the error of a request that changed nothing because its result could not be
// stored.
func (l *loop) notSavedError() error {
	return fmt.Errorf("%w: nothing was changed: %s", client.ErrUnavailable, cmp.Or(l.frozen, "the controller is stopping"))
}

// applySaved applies the result of a request that the store has saved.
func (l *loop) applySaved(e *entry) {
	a := e.asked
	if a == nil || e.stored < a.version {
		return
	}
	a.apply(&e.rec)
	e.asked, a.saved = nil, true
	e.stale = e.stale || e.rec.IsDraining() && !e.running() // the session has stopped in the meantime
	l.applyOutcome(e, &a.out)
}

// applyOutcome applies those effects of a request that are not part of the record: it wakes the
// session, cancels a restart, clears a failed stop, and emits the events.
func (l *loop) applyOutcome(e *entry, out *orderOutcome) {
	if out.Wake != "" || out.Unwake {
		e.wakeWhy, e.wakeQueued, l.dirty = out.Wake, false, true
	}
	if out.Unwake && e.order == plan.OrderRestart {
		e.order = plan.OrderNone // this request replaces the earlier restart
	}
	if out.Retry {
		e.stopAt, e.stopFault = time.Time{}, ""
	}
	for _, t := range out.Events {
		l.emitEvent(e, t)
	}
}

// emitEvent emits an event that an order has returned.
func (l *loop) emitEvent(e *entry, t orderEvent) { l.emit(t.Kind, e, t.Text, t.Data) }

// findForRequest returns the session that a request names. If instance is not empty, it must be the
// current instance.
func (l *loop) findForRequest(name, instance string) (*entry, error) {
	e, err := l.find(name)
	switch {
	case err != nil:
		return nil, err
	case l.unread != "":
		return nil, fmt.Errorf("%w: %s", client.ErrUnavailable, l.unread)
	case l.ending != nil:
		return nil, fmt.Errorf("%w: the city is being stopped", client.ErrRefused)
	}
	return e, checkInstance(&e.rec, name, instance)
}

// Wake starts a sleeping session or an unneeded member of a pool, and cancels a drain.
func (c *Controller) Wake(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, wakeOrder)
}

// WakeFor starts a sleeping session for the given reason, such as a queued prompt. It returns nil
// if the session runs or will run. A suspended session is client.ErrRefused.
func (c *Controller) WakeFor(ctx context.Context, name, reason string) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{Reason: reason}, wakeForOrder)
	return err
}

// Sleep stops a session until it is woken.
func (c *Controller) Sleep(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, sleepOrder)
}

// Suspend stops a session until a person resumes it.
func (c *Controller) Suspend(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, suspendOrder)
}

// Withhold stops a session until [Controller.Allow] because its budget is used up. The stop is not
// counted as a failure. The hold is stored when Withhold returns.
func (c *Controller) Withhold(ctx context.Context, name, reason string, until time.Time) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{Reason: reason}, newWithholdOrder(until))
	return err
}

// Allow releases a session that Withhold stopped.
func (c *Controller) Allow(ctx context.Context, name, reason string) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{Reason: reason}, allowOrder)
	return err
}

// Reset clears failures, quarantine and limits and closes the conversation. A session that is to
// run starts at once; its next start begins a new conversation.
func (c *Controller) Reset(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, resetOrder)
}

// Drain asks the agent to finish its work.
func (c *Controller) Drain(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, drainOrder)
}

// DrainAck records that the agent has finished its drain.
func (c *Controller) DrainAck(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, ackDrain)
}

// RequestRestart requests a restart at the end of the current turn.
func (c *Controller) RequestRestart(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, renewOrder)
}

// releaseHold ends a hold and a drain because the decision about the session requires it.
func (l *loop) releaseHold(e *entry, reason string) {
	e.rec.Hold, e.rec.Drain = session.Hold{}, session.Drain{}
	e.touch()
	l.emitEvent(e, newReleasedEvent(reason))
}

// beginDrain begins a drain of the current instance: it asks the agent to finish its work. After
// the record is saved, [loop.syncDrains] notifies the agent.
func (l *loop) beginDrain(e *entry, d session.Drain) {
	ev := beginDrain(&e.rec, d, l.now())
	e.touch()
	l.emitEvent(e, ev)
}

// endDrain removes the drain from the record because the draining instance has stopped. If the
// drain was to end in a hold, such as sleep, endDrain sets that hold.
func (l *loop) endDrain(e *entry) {
	d := e.rec.Drain
	e.rec.Drain = session.Drain{}
	if d.Then != "" && e.rec.Hold.Kind == "" {
		e.rec.Hold = session.Hold{Kind: d.Then, Reason: d.Reason, Since: l.now()}
	}
	e.touch()
}

// syncDrains writes the deadline of each drain to the metadata of its session, where the agent
// reads it, and removes it when the drain is over. It does so only after the store has saved the
// drain.
func (l *loop) syncDrains() {
	for _, e := range l.entries {
		var until string
		if e.rec.IsDraining() {
			until = fmt.Sprint(e.rec.Drain.Deadline.Unix())
		}
		if until == e.drainSynced || !e.running() || e.job != nil || !e.durable() || e.backend.provider == nil {
			continue
		}
		p, name := e.backend.provider, e.rec.Session
		l.begin(e, jobAdopt, "", observeLimit, func(context.Context) func() {
			err := ops.WriteDrain(p, name, until)
			return func() {
				e.drainSynced = until
				if err != nil && !errors.Is(err, errors.ErrUnsupported) {
					l.c.opts.Logger.Warn("cannot ask an agent to finish its work; it is stopped at the deadline", "session", name, "error", err)
				}
			}
		})
	}
}
