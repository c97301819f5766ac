package requests

import (
	"cmp"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// configured refuses what is of no use for a session that is not configured.
func (c *Case) configured() error {
	if c.Session == nil {
		return fmt.Errorf("%w: %s is not configured any more", client.ErrRefused, c.Record.Session)
	}
	return nil
}

// free ends a hold and a drain.
func (c *Case) free(reason, detail string) Outcome {
	c.Record.Hold, c.Record.Drain = session.Hold{}, session.Drain{}
	out := changedOutcome(detail, NewReleasedEvent(reason))
	out.Wake = wakeReason(reason)
	return out
}

// NewReleasedEvent reports that nothing keeps a session from running any more.
func NewReleasedEvent(reason string) Event {
	return Event{event.SessionReleased, "nothing keeps the session from running", map[string]string{"reason": reason}}
}

// NewHeldEvent reports that a session is kept from running.
func NewHeldEvent(h session.Hold) Event {
	return Event{event.SessionHeld, "the session is kept from running", map[string]string{"hold": string(h.Kind), "reason": h.Reason}}
}

func wakeReason(reason string) string { return cmp.Or(reason, "it was asked for") }

// Wake starts a session that sleeps, or a member that its pool does not want, and
// cancels a drain.
func Wake(reason string) Order {
	return func(c *Case) (Outcome, error) {
		r := &c.Record
		if err := c.configured(); err != nil {
			return Outcome{}, err
		}
		switch {
		case c.Session.Suspended:
			return Outcome{}, fmt.Errorf("%w: %s is suspended in city.toml; set suspended = false there", client.ErrRefused, r.Agent)
		case r.Hold.Kind == session.HoldSuspend:
			return Outcome{}, fmt.Errorf("%w: %s is suspended; start it with: gc start %s", client.ErrRefused, r.Agent, r.Agent)
		case r.Hold.Kind == session.HoldBudget:
			return Outcome{}, c.withheld()
		case r.State == session.StateQuarantined:
			return Outcome{}, fmt.Errorf("%w: %s is in quarantine until %s; start it with: gc start %s", client.ErrRefused, r.Agent, stamp(c.Action.After), r.Agent)
		case r.Hold.Kind == session.HoldSleep, r.IsDraining():
			return c.free(reason, "it is woken"), nil
		case c.Running:
			return unchanged("it runs already")
		case c.Session.Pool != "" && c.Action.Desired == plan.DesiredStopped:
			return Outcome{Changed: true, Detail: "it is woken", Wake: wakeReason(reason)}, nil
		}
		return Outcome{Detail: "it does not sleep: " + c.Action.Reason, Wake: wakeReason(reason)}, nil
	}
}

// WakeFor starts a sleeping session because there is something for it. What winds
// down is not disturbed: once it sleeps it is asked for again; what is in
// quarantine starts when that is over.
func WakeFor(reason string) Order {
	return func(c *Case) (Outcome, error) {
		if c.Record.IsDraining() || c.Running || c.Record.State == session.StateQuarantined || c.Record.Hold.Kind == session.HoldBudget {
			return Outcome{}, nil
		}
		return Wake(reason)(c)
	}
}

// Sleep ends a session until it is woken.
func Sleep(reason string) Order {
	return func(c *Case) (Outcome, error) {
		switch c.Record.Hold.Kind {
		case session.HoldSleep:
			return unchanged("it sleeps already")
		case session.HoldSuspend:
			return unchanged("it is suspended, which is more")
		case session.HoldBudget:
			return unchanged("it is out of its budget, which is more")
		}
		return c.setHold(session.HoldSleep, reason)
	}
}

// Suspend ends a session until it is resumed by hand.
func Suspend(reason string) Order {
	return func(c *Case) (Outcome, error) {
		if c.Record.Hold.Kind == session.HoldSuspend {
			return unchanged("it is suspended already")
		}
		return c.setHold(session.HoldSuspend, reason)
	}
}

func (c *Case) setHold(kind session.HoldKind, reason string) (Outcome, error) {
	if err := c.configured(); err != nil {
		return Outcome{}, err
	}
	return c.applyHold(session.Hold{Kind: kind, Reason: reason, Since: c.Now})
}

// applyHold puts a hold into force.
func (c *Case) applyHold(h session.Hold) (Outcome, error) {
	c.Record.Drain, c.Record.Hold = session.Drain{}, h
	detail := "it does not run"
	if c.Running || c.Unknown {
		detail = "it is being stopped"
	}
	out := changedOutcome(detail, NewHeldEvent(c.Record.Hold))
	out.Unwake = true
	return out, nil
}

// Withhold ends a session until its budget allows it again. What a person has ordered
// is more; sleep is less.
func Withhold(reason string, until time.Time) Order {
	return func(c *Case) (Outcome, error) {
		if c.Record.Hold.Kind == session.HoldSuspend {
			return unchanged("it is suspended, which is more")
		}
		if err := c.configured(); err != nil {
			return Outcome{}, err
		}
		return c.applyHold(session.Hold{Kind: session.HoldBudget, Reason: reason, Since: c.Now, Until: until})
	}
}

// Allow ends what Withhold began.
func Allow(reason string) Order {
	return func(c *Case) (Outcome, error) {
		if c.Record.Hold.Kind != session.HoldBudget {
			return unchanged("its budget does not keep it from running")
		}
		return c.free(reason, "its budget allows it again"), nil
	}
}

// withheld refuses to run what is out of its budget.
func (c *Case) withheld() error {
	return fmt.Errorf("%w: %s is out of its budget (%s); raise the limit in city.toml, or: gc usage lift", client.ErrRefused, c.Record.Session, c.Record.Hold.Reason)
}

// Resume ends a suspension and a drain, and has the next prompt, or start, tried at once that
// an obstacle holds back.
func Resume(reason string) Order {
	return func(c *Case) (Outcome, error) {
		if err := c.configured(); err != nil {
			return Outcome{}, err
		}
		switch {
		case c.Record.Hold.Kind == session.HoldSuspend, c.Record.IsDraining():
			return c.free(reason, "it is resumed"), nil
		case c.Session.Suspended:
			return Outcome{}, fmt.Errorf("%w: %s is suspended in city.toml; set suspended = false there", client.ErrRefused, c.Record.Agent)
		case c.Record.Hold.Kind == session.HoldBudget:
			return Outcome{}, c.withheld()
		case c.Record.Obstacle.BlocksPrompts() && !c.Record.Obstacle.Released:
			o := &c.Record.Obstacle
			o.ProbeAt, o.Probes, o.Released = c.Now, 0, true
			return changedOutcome("the next prompt is tried at once", NewReleasedEvent(reason)), nil
		}
		return unchanged("nothing holds it back")
	}
}

// Reset forgets failures, quarantine, limits and the conversation: a wanted session
// starts at once, and the next start begins a new conversation.
func Reset(reason string) Order {
	return func(c *Case) (Outcome, error) {
		r := &c.Record
		talk := &r.Conversation
		open := talk.ID != "" && !talk.Closed
		if !open && len(r.Failures) == 0 && r.Fault == "" && r.NextAt.IsZero() && r.Obstacle.Kind == "" {
			return unchanged("there is nothing to forget")
		}
		detail := fmt.Sprintf("%d failures are forgotten", len(r.Failures))
		if open {
			talk.Closed, talk.Former = true, nil
			detail += "; the next start begins a new conversation"
		}
		r.ResetFailures()
		r.Obstacle = session.Obstacle{}
		out := changedOutcome(detail, Event{event.SessionReset, "what went wrong with the session is forgotten", map[string]string{"reason": reason}})
		out.Retry = true
		return out, nil
	}
}
