package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/controller/account"
	"gascity/internal/controller/reach"
	"gascity/internal/event"
	"gascity/internal/session"
)

// order is what a person, or the agent itself, asks to keep: a change of the
// record that says how it went. An empty detail of a change says nothing more.
type order func(l *loop, e *entry) (changed bool, detail string, err error)

// keep carries an order out: it changes the record, waits until the store has
// it, and answers then. If the store does not take it, nothing was changed.
func (c *Controller) keep(ctx context.Context, name string, req client.LifecycleRequest, do order) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) {
		e, err := l.addressed(name, req.Instance)
		if err != nil {
			answer(client.Done{}, err)
			return
		}
		before, why := e.rec, e.wakeWhy
		changed, detail, err := do(l, e)
		done := client.Done{Session: e.rec.Session, Changed: changed, Detail: detail}
		if err != nil || !changed {
			answer(done, err)
			return
		}
		e.touch()
		l.saved(e, func() { e.undo(before, why) }, func(err error) {
			if err != nil {
				done = client.Done{}
			}
			answer(done, err)
		})
	})
}

// undo takes back what an order changed; what was seen since stays.
func (e *entry) undo(before session.Record, wakeWhy string) {
	e.rec.TakeBack(&before)
	e.wakeWhy = wakeWhy
}

// addressed finds the session of an order and checks that the incarnation that
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
	return e, fenced(&e.rec, name, instance)
}

// configured refuses what is of no use for a session that is not configured.
func (l *loop) configured(e *entry) error {
	if l.desired[e.rec.Key()] == nil {
		return fmt.Errorf("%w: %s is not configured any more", client.ErrRefused, e.rec.Session)
	}
	return nil
}

// Wake starts a session that sleeps, and cancels a drain.
func (c *Controller) Wake(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) { return l.awake(e, req.Reason) })
}

func (l *loop) awake(e *entry, reason string) (changed bool, detail string, err error) {
	if err := l.configured(e); err != nil {
		return false, "", err
	}
	s := l.desired[e.rec.Key()]
	switch {
	case s.Suspended:
		return false, "", fmt.Errorf("%w: %s is suspended in city.toml", client.ErrRefused, e.rec.Session)
	case e.rec.Hold.Kind == session.HoldSuspend:
		return false, "", fmt.Errorf("%w: %s is suspended; gc session resume ends that", client.ErrRefused, e.rec.Session)
	case e.rec.State == session.StateQuarantined:
		return false, "", fmt.Errorf("%w: %s is in quarantine until %s; gc session reset ends that", client.ErrRefused, e.rec.Session, account.Stamp(e.action.After))
	case e.rec.Hold.Kind == session.HoldSleep, e.draining():
		l.free(e, reason)
		return true, "it is woken", nil
	case e.running():
		return false, "it runs already", nil
	}
	e.wakeWhy = wakeReason(reason)
	return false, "it does not sleep: " + e.action.Reason, nil
}

func wakeReason(reason string) string {
	if reason == "" {
		return "it was asked for"
	}
	return reason
}

// free ends a hold and a drain of one session.
func (l *loop) free(e *entry, reason string) {
	e.rec.Hold, e.rec.Drain, e.wakeWhy = session.Hold{}, session.Drain{}, wakeReason(reason)
	l.c.emit(event.SessionReleased, e, "nothing keeps the session from running", map[string]string{"reason": reason})
}

// WakeFor starts a sleeping session because there is something for it. It is nil
// if the session runs, or will. One that is suspended is client.ErrRefused.
func (c *Controller) WakeFor(ctx context.Context, name, reason string) error {
	_, err := c.keep(ctx, name, client.LifecycleRequest{}, func(l *loop, e *entry) (bool, string, error) {
		if e.draining() || e.running() {
			return false, "", nil // what winds down is not disturbed; once it sleeps it is asked for again
		}
		if e.rec.State == session.StateQuarantined {
			return false, "", nil // it starts when that is over
		}
		return l.awake(e, reason)
	})
	return err
}

// Sleep ends a session until it is woken.
func (c *Controller) Sleep(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		switch e.rec.Hold.Kind {
		case session.HoldSleep:
			return false, "it sleeps already", nil
		case session.HoldSuspend:
			return false, "it is suspended, which is more", nil
		}
		return l.hold(e, session.HoldSleep, req.Reason)
	})
}

// Suspend ends a session until it is resumed by hand.
func (c *Controller) Suspend(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		if e.rec.Hold.Kind == session.HoldSuspend {
			return false, "it is suspended already", nil
		}
		return l.hold(e, session.HoldSuspend, req.Reason)
	})
}

func (l *loop) hold(e *entry, kind session.HoldKind, reason string) (changed bool, detail string, err error) {
	if err := l.configured(e); err != nil {
		return false, "", err
	}
	e.rec.Drain, e.wakeWhy = session.Drain{}, ""
	l.holdFor(e, session.Hold{Kind: kind, Reason: reason, Since: l.now()})
	if e.running() || e.unknown() {
		return true, "it is being ended", nil
	}
	return true, "it does not run", nil
}

// Resume ends a suspension, and a drain.
func (c *Controller) Resume(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		if err := l.configured(e); err != nil {
			return false, "", err
		}
		switch {
		case e.rec.Hold.Kind == session.HoldSuspend, e.draining():
			l.free(e, req.Reason)
			return true, "it is resumed", nil
		case l.desired[e.rec.Key()].Suspended:
			return false, "", fmt.Errorf("%w: %s is suspended in city.toml", client.ErrRefused, name)
		}
		return false, "it is not suspended", nil
	})
}

// Reset forgets failures, quarantine, limits and the conversation: a wanted session
// starts at once, and the next start begins a new conversation.
func (c *Controller) Reset(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		talk := &e.rec.Conversation
		open := talk.ID != "" && !talk.Closed
		if !open && len(e.rec.Failures) == 0 && e.rec.Fault == "" && e.rec.NextAt.IsZero() && e.rec.Limited.Since.IsZero() {
			return false, "there is nothing to forget", nil
		}
		detail := fmt.Sprintf("%d failures are forgotten", len(e.rec.Failures))
		if open {
			talk.Closed, talk.Former = true, nil
			detail += "; the next start begins a new conversation"
		}
		e.rec.Forgive()
		e.rec.Limited = session.Limit{}
		e.stopAt, e.stopFault = time.Time{}, ""
		l.c.emit(event.SessionReset, e, "what went wrong with the session is forgotten", map[string]string{"reason": req.Reason})
		return true, detail, nil
	})
}

const drainLimit = 5 * time.Minute // of a drain, if neither the order nor the agent says

// Drain asks the agent to wind down.
func (c *Controller) Drain(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		switch {
		case e.unknown():
			return false, "", fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, name, e.action.Reason)
		case !e.running():
			return false, "", fmt.Errorf("%w: %s does not run", client.ErrRefused, name)
		case e.draining():
			return false, "it winds down already, until " + account.Stamp(e.rec.Drain.Deadline), nil
		}
		limit := req.Timeout
		if s := l.desired[e.rec.Key()]; limit <= 0 && s != nil {
			limit = s.DrainTimeout
		}
		if limit <= 0 {
			limit = drainLimit
		}
		l.beginDrain(e, session.Drain{Reason: req.Reason, Deadline: l.now().Add(limit), Then: session.HoldSleep})
		return true, "it is stopped when it acknowledges, at the latest " + account.Stamp(e.rec.Drain.Deadline), nil
	})
}

// DrainAck says that the agent has wound down.
func (c *Controller) DrainAck(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		switch {
		case !e.draining():
			return false, "", fmt.Errorf("%w: %s was not asked to wind down", client.ErrRefused, name)
		case !e.rec.Drain.Acked.IsZero():
			return false, "it has said so already", nil
		}
		e.rec.Drain.Acked = l.now()
		l.c.emit(event.SessionDrained, e, "the agent has wound down", nil)
		return true, "it is stopped now", nil
	})
}

// DrainState tells whether an agent is to wind down.
func (c *Controller) DrainState(_ context.Context, name string) (client.Drain, error) {
	t, err := c.target(name)
	if err != nil {
		return client.Drain{}, err
	}
	return account.Drain(&t.rec), nil
}

// RequestRestart asks for a restart at the end of the present turn.
func (c *Controller) RequestRestart(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return c.keep(ctx, name, req, func(l *loop, e *entry) (bool, string, error) {
		switch {
		case !e.rec.Renew.IsZero():
			return false, "it was asked for already", nil
		case !e.running():
			return false, "", fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, name, e.action.Reason)
		}
		e.rec.Renew = l.now()
		return true, "it is restarted at the end of its turn", nil
	})
}

// draining reports whether the present incarnation is to wind down.
func (e *entry) draining() bool { return e.rec.Drain.Epoch != 0 && e.rec.Drain.Epoch == e.rec.Epoch }

// beginDrain notes a drain of the present incarnation. tellDrain tells the agent.
func (l *loop) beginDrain(e *entry, d session.Drain) {
	d.Epoch, d.Since, d.Acked = e.rec.Epoch, l.now(), time.Time{}
	e.rec.Drain = d
	e.touch()
	l.c.emit(event.SessionDraining, e, "the agent is asked to wind down",
		map[string]string{"reason": d.Reason, "until": account.Stamp(d.Deadline)})
}

// endDrain notes that the incarnation that was to wind down is over.
func (l *loop) endDrain(e *entry) {
	d := e.rec.Drain
	e.rec.Drain = session.Drain{}
	if d.Then != "" && e.rec.Hold.Kind == "" {
		e.rec.Hold = session.Hold{Kind: d.Then, Reason: d.Reason, Since: l.now()}
	}
	e.touch()
}

// tellDrains brings what the store has of drains to the agents.
func (l *loop) tellDrains() {
	for _, e := range l.entries {
		var until string
		if e.draining() {
			until = fmt.Sprint(e.rec.Drain.Deadline.Unix())
		}
		if until == e.drainTold || !e.running() || e.job != nil || !e.durable() || e.place.provider == nil {
			continue
		}
		p, name := e.place.provider, e.rec.Session
		l.begin(e, jobAdopt, "", lookLimit, func(context.Context) func() {
			err := reach.TellDrain(p, name, until)
			return func() {
				e.drainTold = until
				if err != nil && !errors.Is(err, errors.ErrUnsupported) {
					l.c.opts.Logger.Warn("cannot tell an agent to wind down; it is stopped at the deadline", "session", name, "error", err)
				}
			}
		})
	}
}
