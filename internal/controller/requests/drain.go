package requests

import (
	"cmp"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// DrainLimit is the drain timeout if neither the request nor the configuration sets one.
const DrainLimit = 5 * time.Minute

// Drain returns an order that asks the agent to finish its work within limit; zero: the configured
// timeout or [DrainLimit].
func Drain(reason string, limit time.Duration) Order {
	return func(c *Case) (Outcome, error) {
		r := &c.Record
		switch {
		case c.Unknown:
			return Outcome{}, fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, r.Session, c.Action.Reason)
		case !c.Running:
			return Outcome{}, fmt.Errorf("%w: %s does not run", client.ErrRefused, r.Session)
		case r.IsDraining():
			return unchanged("it was already asked to finish its work; gc stops it at the latest at " + stamp(r.Drain.Deadline))
		}
		span := max(limit, 0)
		if c.Session != nil {
			span = cmp.Or(span, max(c.Session.DrainTimeout, 0))
		}
		ev := BeginDrain(r, session.Drain{Reason: reason, Deadline: c.Now.Add(cmp.Or(span, DrainLimit)), Then: session.HoldSleep}, c.Now)
		return changedOutcome("gc stops it when it acknowledges, at the latest at "+stamp(r.Drain.Deadline), ev), nil
	}
}

// BeginDrain records in r a drain of the current instance and returns its event.
func BeginDrain(r *session.Record, d session.Drain, now time.Time) Event {
	d.Epoch, d.Since, d.Acked = r.Epoch, now, time.Time{}
	r.Drain = d
	return Event{event.SessionDraining, "the agent is asked to finish its work", map[string]string{"reason": d.Reason, "until": stamp(d.Deadline)}}
}

// EndDrain records that the draining instance has stopped, and sets the hold that follows.
func EndDrain(r *session.Record, now time.Time) {
	d := r.Drain
	r.Drain = session.Drain{}
	if d.Then != "" && r.Hold.Kind == "" {
		r.Hold = session.Hold{Kind: d.Then, Reason: d.Reason, Since: now}
	}
}

// DrainAck records that the agent has finished its drain.
func DrainAck(c *Case) (Outcome, error) {
	r := &c.Record
	switch {
	case !r.IsDraining():
		return Outcome{}, fmt.Errorf("%w: %s was not asked to finish its work", client.ErrRefused, r.Session)
	case !r.Drain.Acked.IsZero():
		return unchanged("it has already acknowledged")
	}
	r.Drain.Acked = c.Now
	return changedOutcome("it is stopped now", Event{event.SessionDrained, "the agent has finished its work", nil}), nil
}

// Renew returns an order that restarts the agent at the end of the current turn: in the same
// conversation or, with req.HandOver, in a new one that receives a note about the old one.
func Renew(req client.LifecycleRequest) Order {
	return func(c *Case) (Outcome, error) { return renew(c, req.HandOver) }
}

// renew requests a restart at the end of the current turn; with handOver, in a new conversation.
func renew(c *Case, handOver bool) (Outcome, error) {
	r := &c.Record
	switch {
	case handOver && c.Running && (!r.Conversation.Closed || r.Renew.IsZero()):
		r.Renew = c.Now
		r.Conversation.CloseForHandoff()
		return changedOutcome("its conversation is handed over to a new one at the end of its turn"), nil
	case !r.Renew.IsZero():
		return unchanged("a restart is already requested")
	case !c.Running:
		return Outcome{}, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, r.Session, c.Action.Reason)
	}
	r.Renew = c.Now
	return changedOutcome("it is restarted at the end of its turn"), nil
}
