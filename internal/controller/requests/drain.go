package requests

import (
	"cmp"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// DrainLimit is that of a drain if neither the order nor the agent says.
const DrainLimit = 5 * time.Minute

// Drain asks the agent to wind down within the limit; zero is the agent's own.
func Drain(reason string, limit time.Duration) Order {
	return func(c *Case) (Outcome, error) {
		r := &c.Record
		switch {
		case c.Unknown:
			return Outcome{}, fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, r.Session, c.Action.Reason)
		case !c.Running:
			return Outcome{}, fmt.Errorf("%w: %s does not run", client.ErrRefused, r.Session)
		case r.IsDraining():
			return unchanged("it winds down already, until " + stamp(r.Drain.Deadline))
		}
		span := max(limit, 0)
		if c.Session != nil {
			span = cmp.Or(span, max(c.Session.DrainTimeout, 0))
		}
		told := BeginDrain(r, session.Drain{Reason: reason, Deadline: c.Now.Add(cmp.Or(span, DrainLimit)), Then: session.HoldSleep}, c.Now)
		return changedOutcome("it is stopped when it acknowledges, or "+stamp(r.Drain.Deadline), told), nil
	}
}

// BeginDrain records a drain of the present instance.
func BeginDrain(r *session.Record, d session.Drain, now time.Time) Event {
	d.Epoch, d.Since, d.Acked = r.Epoch, now, time.Time{}
	r.Drain = d
	return Event{event.SessionDraining, "the agent is asked to wind down", map[string]string{"reason": d.Reason, "until": stamp(d.Deadline)}}
}

// EndDrain records that the instance that was to wind down is over.
func EndDrain(r *session.Record, now time.Time) {
	d := r.Drain
	r.Drain = session.Drain{}
	if d.Then != "" && r.Hold.Kind == "" {
		r.Hold = session.Hold{Kind: d.Then, Reason: d.Reason, Since: now}
	}
}

// DrainAck says that the agent has wound down.
func DrainAck(c *Case) (Outcome, error) {
	r := &c.Record
	switch {
	case !r.IsDraining():
		return Outcome{}, fmt.Errorf("%w: %s was not asked to wind down", client.ErrRefused, r.Session)
	case !r.Drain.Acked.IsZero():
		return unchanged("it has said so already")
	}
	r.Drain.Acked = c.Now
	return changedOutcome("it is stopped now", Event{event.SessionDrained, "the agent has wound down", nil}), nil
}

// Renew asks for a restart at the end of the present turn, in the same conversation or,
// where that is handed over, in a new one that receives a note about it.
func Renew(req client.LifecycleRequest) Order {
	return func(c *Case) (Outcome, error) { return renew(c, req.HandOver) }
}

func renew(c *Case, handOver bool) (Outcome, error) {
	r := &c.Record
	switch {
	case handOver && c.Running && (!r.Conversation.Closed || r.Renew.IsZero()):
		r.Renew = c.Now
		r.Conversation.CloseForHandoff()
		return changedOutcome("its conversation is handed over to a new one at the end of its turn"), nil
	case !r.Renew.IsZero():
		return unchanged("it was asked for already")
	case !c.Running:
		return Outcome{}, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, r.Session, c.Action.Reason)
	}
	r.Renew = c.Now
	return changedOutcome("it is restarted at the end of its turn"), nil
}
