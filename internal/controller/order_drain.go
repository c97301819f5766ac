package controller

import (
	"cmp"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// defaultDrainTimeout is the drain timeout if neither the request nor the configuration sets one.
const defaultDrainTimeout = 5 * time.Minute

// drainOrder asks the agent to finish its work within req.Timeout; zero: the configured timeout or [defaultDrainTimeout].
func drainOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	r := &c.Record
	switch {
	case c.Unknown:
		return orderOutcome{}, fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, r.Session, c.Action.Reason)
	case !c.Running:
		return orderOutcome{}, fmt.Errorf("%w: %s does not run", client.ErrRefused, r.Session)
	case r.IsDraining():
		return unchanged("it was already asked to finish its work; gc stops it at the latest at " + explain.Stamp(r.Drain.Deadline))
	}
	span := max(req.Timeout, 0)
	if c.Session != nil {
		span = cmp.Or(span, max(c.Session.DrainTimeout, 0))
	}
	ev := beginDrain(r, session.Drain{Reason: req.Reason, Deadline: c.Now.Add(cmp.Or(span, defaultDrainTimeout)), Then: session.HoldSleep}, c.Now)
	return changedOutcome("gc stops it when it acknowledges, at the latest at "+explain.Stamp(r.Drain.Deadline), ev), nil
}

// beginDrain records the drain d of the current instance in r and returns the event about it. A
// drain asks an agent to finish its work before it is stopped.
func beginDrain(r *session.Record, d session.Drain, now time.Time) orderEvent {
	d.Epoch, d.Since, d.Acked = r.Epoch, now, time.Time{}
	r.Drain = d
	return orderEvent{event.SessionDraining, "the agent is asked to finish its work", map[string]string{"reason": d.Reason, "until": explain.Stamp(d.Deadline)}}
}

// ackDrain handles the report of an agent that it has finished the work for which gc let it run on
// (gc drain ack). The agent is then stopped.
func ackDrain(c *orderCase, _ client.LifecycleRequest) (orderOutcome, error) {
	r := &c.Record
	switch {
	case !r.IsDraining():
		return orderOutcome{}, fmt.Errorf("%w: %s has no work to confirm: gc drain has not asked it to finish", client.ErrRefused, r.Session)
	case !r.Drain.Acked.IsZero():
		return unchanged("it has already confirmed that its work is finished")
	}
	r.Drain.Acked = c.Now
	return changedOutcome("it is stopped now", orderEvent{event.SessionDrained, "the agent has finished its work", nil}), nil
}

// renewOrder requests a restart of the agent at the end of the current turn: in the same
// conversation or, with req.HandOver, in a new one that receives a note about the old one.
func renewOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	r := &c.Record
	switch {
	case req.HandOver && c.Running && (!r.Conversation.Closed || r.Renew.IsZero()):
		r.Renew = c.Now
		r.Conversation.CloseForHandoff()
		return changedOutcome("its conversation is handed over to a new one at the end of its turn"), nil
	case !r.Renew.IsZero():
		return unchanged("a restart is already requested")
	case !c.Running:
		return orderOutcome{}, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, r.Session, c.Action.Reason)
	}
	r.Renew = c.Now
	return changedOutcome("it is restarted at the end of its turn"), nil
}
