package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/controller/requests"
	"gascity/internal/controller/snapshot"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// asked is an order that the store does not have yet. Until it has, nothing is
// otherwise than before.
type asked struct {
	requests.Change
	out     requests.Outcome
	version uint64 // of the first record that has the change
	saved   bool
}

// runOrder carries an order out: it answers once the store has what was ordered. If
// the store does not take it, nothing was changed.
func (c *Controller) runOrder(ctx context.Context, name string, req client.LifecycleRequest, do requests.Order) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) { l.runOrder(name, req.Instance, do, answer) })
}

// runOrder runs one order after the other: each finds the result of those before
// it.
func (l *loop) runOrder(name, instance string, do requests.Order, answer func(client.Done, error)) {
	e, err := l.addressed(name, instance)
	if err != nil {
		answer(client.Done{}, err)
		return
	}
	if e.asked != nil {
		l.waiters = append(l.waiters, func() bool {
			if e.asked != nil {
				return false
			}
			l.runOrder(name, instance, do, answer)
			return true
		})
		return
	}
	c := &requests.Case{
		Record: e.rec, Session: l.configured(e), Action: e.action, Now: l.now(), Running: e.running(), Unknown: e.unknown(),
	}
	out, err := do(c)
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
		e.asked = &asked{Change: requests.Change{Before: e.rec, After: c.Record}, out: out, version: e.version}
		l.awaitSaved(e, done, answer)
	}
}

// awaitSaved answers an order when the store has it, or has not taken it.
func (l *loop) awaitSaved(e *entry, done client.Done, answer func(client.Done, error)) {
	a := e.asked
	l.dirty = true
	l.waiters = append(l.waiters, func() bool {
		switch {
		case a.saved:
			answer(done, nil)
		case l.frozen != "" || l.leaving || l.entries[e.rec.Key()] != e:
			e.asked = nil
			e.touch() // the store may have the order after all
			answer(client.Done{}, l.notSavedError())
		default:
			return false
		}
		return true
	})
}

func (l *loop) notSavedError() error {
	return fmt.Errorf("%w: nothing was changed: %s", client.ErrUnavailable, cmp.Or(l.frozen, "the controller ends"))
}

// enforce puts an order into force that the store has.
func (l *loop) enforce(e *entry) {
	a := e.asked
	if a == nil || e.stored < a.version {
		return
	}
	a.Apply(&e.rec)
	e.asked, a.saved = nil, true
	e.stale = e.stale || e.rec.IsDraining() && !e.running() // it has ended meanwhile
	l.applyOutcome(e, &a.out)
}

// applyOutcome does what an order asks for beyond the record.
func (l *loop) applyOutcome(e *entry, out *requests.Outcome) {
	if out.Wake != "" || out.Unwake {
		e.wakeWhy, e.wakeQueued, l.dirty = out.Wake, false, true
	}
	if out.Unwake && e.order == plan.OrderRestart {
		e.order = plan.OrderNone // it was asked for before
	}
	if out.Retry {
		e.stopAt, e.stopFault = time.Time{}, ""
	}
	for _, t := range out.Events {
		l.emitEvent(e, t)
	}
}

func (l *loop) emitEvent(e *entry, t requests.Event) { l.c.emit(t.Kind, e, t.Text, t.Data) }

// addressed finds the session of an order and checks that the instance that
// it names, if it names one, is the present one.
func (l *loop) addressed(name, instance string) (*entry, error) {
	e, err := l.find(name)
	switch {
	case err != nil:
		return nil, err
	case l.unread != "":
		return nil, fmt.Errorf("%w: %s", client.ErrUnavailable, l.unread)
	case l.ending != nil:
		return nil, fmt.Errorf("%w: the city ends", client.ErrRefused)
	}
	return e, snapshot.Fenced(&e.rec, name, instance)
}

// Wake starts a session that sleeps, or a member that its pool does not want, and
// cancels a drain.
func (c *Controller) Wake(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Wake(req.Reason))
}

// WakeFor starts a sleeping session because there is something for it. It is nil
// if the session runs, or will. One that is suspended is client.ErrRefused.
func (c *Controller) WakeFor(ctx context.Context, name, reason string) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{}, requests.WakeFor(reason))
	return err
}

// Sleep ends a session until it is woken.
func (c *Controller) Sleep(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Sleep(req.Reason))
}

// Suspend ends a session until it is resumed by hand.
func (c *Controller) Suspend(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Suspend(req.Reason))
}

// Withhold ends a session until [Controller.Allow]: its budget is used up. That is no
// failure. It is durable when it returns.
func (c *Controller) Withhold(ctx context.Context, name, reason string, until time.Time) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{}, requests.Withhold(reason, until))
	return err
}

// Allow ends what Withhold began.
func (c *Controller) Allow(ctx context.Context, name, reason string) error {
	_, err := c.runOrder(ctx, name, client.LifecycleRequest{}, requests.Allow(reason))
	return err
}

// Reset forgets failures, quarantine, limits and the conversation: a wanted session
// starts at once, and the next start begins a new conversation.
func (c *Controller) Reset(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Reset(req.Reason))
}

// Drain asks the agent to wind down.
func (c *Controller) Drain(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Drain(req.Reason, req.Timeout))
}

// DrainAck says that the agent has wound down.
func (c *Controller) DrainAck(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.DrainAck)
}

// RequestRestart asks for a restart at the end of the present turn.
func (c *Controller) RequestRestart(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.runOrder(ctx, name, req, requests.Renew(req))
}

// free ends a hold that a decision ends.
func (l *loop) free(e *entry, reason string) {
	e.rec.Hold, e.rec.Drain = session.Hold{}, session.Drain{}
	e.touch()
	l.emitEvent(e, requests.NewReleasedEvent(reason))
}

// beginDrain records a drain of the present instance. syncDrains notifies the
// agent.
func (l *loop) beginDrain(e *entry, d session.Drain) {
	told := requests.BeginDrain(&e.rec, d, l.now())
	e.touch()
	l.emitEvent(e, told)
}

// endDrain records that the instance that was to wind down is over.
func (l *loop) endDrain(e *entry) {
	requests.EndDrain(&e.rec, l.now())
	e.touch()
}

// syncDrains brings what the store has of drains to the agents.
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
					l.c.opts.Logger.Warn("cannot ask an agent to wind down; it is stopped at the deadline", "session", name, "error", err)
				}
			}
		})
	}
}
