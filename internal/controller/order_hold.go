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

// configured returns an error if the session is not configured any more.
func (c *orderCase) configured() error {
	if c.Session == nil {
		return fmt.Errorf("%w: %s is not configured any more", client.ErrRefused, c.Record.Session)
	}
	return nil
}

// free ends the hold and the drain of the session, so that it may run again. detail is the message
// for the caller.
func (c *orderCase) free(reason, detail string) orderOutcome {
	c.Record.Hold, c.Record.Drain = session.Hold{}, session.Drain{}
	out := changedOutcome(detail, newReleasedEvent(reason))
	out.Wake = wakeReason(reason)
	return out
}

// newReleasedEvent returns the event that a session has no hold any more, so that it may run.
func newReleasedEvent(reason string) orderEvent {
	return orderEvent{event.SessionReleased, "nothing keeps the session from running", map[string]string{"reason": reason}}
}

// newHeldEvent returns the event that a session has got a hold, which keeps it from running.
func newHeldEvent(h session.Hold) orderEvent {
	return orderEvent{event.SessionHeld, "the session is kept from running", map[string]string{"hold": string(h.Kind), "reason": h.Reason}}
}

// wakeReason returns reason, or a default if it is empty.
func wakeReason(reason string) string { return cmp.Or(reason, "a person or a program requested it") }

// wakeOrder starts a sleeping session or an unneeded member of a pool, and cancels a drain.
func wakeOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	r := &c.Record
	if err := c.configured(); err != nil {
		return orderOutcome{}, err
	}
	switch {
	case c.Session.Suspended:
		return orderOutcome{}, fmt.Errorf("%w: %s is suspended in city.toml; set suspended = false there", client.ErrRefused, r.Agent)
	case r.Hold.Kind == session.HoldSuspend:
		return orderOutcome{}, fmt.Errorf("%w: %s is suspended; start it with: gc start %s", client.ErrRefused, r.Agent, r.Agent)
	case r.Hold.Kind == session.HoldBudget:
		return orderOutcome{}, c.withheld()
	case r.State == session.StateQuarantined:
		return orderOutcome{}, fmt.Errorf("%w: %s is in quarantine until %s; start it with: gc start %s", client.ErrRefused, r.Agent, explain.Stamp(c.Action.After), r.Agent)
	case r.Hold.Kind == session.HoldSleep, r.IsDraining():
		return c.free(req.Reason, "it is being woken"), nil
	case c.Running:
		return unchanged("it is already running")
	case c.Session.Pool != "" && c.Action.Desired == client.DesiredStopped:
		return orderOutcome{Changed: true, Detail: "it is being woken", Wake: wakeReason(req.Reason)}, nil
	}
	return orderOutcome{Detail: "it is not asleep: " + c.Action.Reason, Wake: wakeReason(req.Reason)}, nil
}

// wakeForOrder wakes a sleeping session for the reason of the request, such as a queued prompt. It
// changes nothing and returns no error if the session runs, drains, is in quarantine or has used up
// its budget: gc starts a quarantined session later, and for a draining one the caller asks again.
func wakeForOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	if c.Record.IsDraining() || c.Running || c.Record.State == session.StateQuarantined || c.Record.Hold.Kind == session.HoldBudget {
		return orderOutcome{}, nil
	}
	return wakeOrder(c, req)
}

// sleepOrder stops a session until it is woken.
func sleepOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	switch c.Record.Hold.Kind {
	case session.HoldSleep:
		return unchanged("it is already asleep")
	case session.HoldSuspend:
		return unchanged("it is already suspended, so it does not run until a person starts it")
	case session.HoldBudget:
		return unchanged("it is already stopped because its budget is used up")
	}
	return c.setHold(session.HoldSleep, req.Reason)
}

// suspendOrder stops a session until a person resumes it.
func suspendOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	switch {
	case c.Session != nil && c.Session.Suspended && !c.Running && !c.Unknown:
		return unchanged("it is suspended in city.toml; to start it, set suspended = false there")
	case c.Record.Hold.Kind == session.HoldSuspend:
		return unchanged("it is already stopped; to start it: gc start " + c.Record.Agent)
	}
	return c.setHold(session.HoldSuspend, req.Reason)
}

// setHold sets a hold of the session, which keeps it from running. A session that is not in city.toml
// is an error.
func (c *orderCase) setHold(kind session.HoldKind, reason string) (orderOutcome, error) {
	if err := c.configured(); err != nil {
		return orderOutcome{}, err
	}
	return c.applyHold(session.Hold{Kind: kind, Reason: reason, Since: c.Now})
}

// applyHold sets a hold of the session, and ends a drain: the agent is stopped without waiting for
// the end of its work.
func (c *orderCase) applyHold(h session.Hold) (orderOutcome, error) {
	c.Record.Drain, c.Record.Hold = session.Drain{}, h
	detail := "it does not run"
	if c.Running || c.Unknown {
		detail = "it is being stopped"
	}
	out := changedOutcome(detail, newHeldEvent(c.Record.Hold))
	out.Unwake = true
	return out, nil
}

// newWithholdOrder returns an order that stops a session until its budget allows it again. It
// replaces a sleep, and it does not replace a suspension.
func newWithholdOrder(until time.Time) order {
	return func(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
		if c.Record.Hold.Kind == session.HoldSuspend {
			return unchanged("it is already suspended, so it does not run until a person starts it")
		}
		if err := c.configured(); err != nil {
			return orderOutcome{}, err
		}
		return c.applyHold(session.Hold{Kind: session.HoldBudget, Reason: req.Reason, Since: c.Now, Until: until})
	}
}

// allowOrder lets a session run again that [Controller.Withhold] stopped because of its budget.
func allowOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	if c.Record.Hold.Kind != session.HoldBudget {
		return unchanged("its budget does not prevent it from running")
	}
	return c.free(req.Reason, "its budget allows it again"), nil
}

// withheld returns the error of a request to run a session whose budget is used up.
func (c *orderCase) withheld() error {
	return fmt.Errorf("%w: %s has used up its budget (%s)", client.ErrRefused, c.Record.Session, c.Record.Hold.Reason)
}

// resumeOrder ends a suspension or a drain. If an obstacle blocks prompts or the start, the next
// attempt is made at once.
func resumeOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	if err := c.configured(); err != nil {
		return orderOutcome{}, err
	}
	switch {
	case c.Record.Hold.Kind == session.HoldSuspend, c.Record.IsDraining():
		return c.free(req.Reason, "it is resumed"), nil
	case c.Session.Suspended:
		return orderOutcome{}, fmt.Errorf("%w: %s is suspended in city.toml; set suspended = false there", client.ErrRefused, c.Record.Agent)
	case c.Record.Hold.Kind == session.HoldBudget:
		return orderOutcome{}, c.withheld()
	case c.Record.Obstacle.BlocksPrompts() && !c.Record.Obstacle.Released:
		o := &c.Record.Obstacle
		o.ProbeAt, o.Probes, o.Released = c.Now, 0, true
		return changedOutcome("the next prompt is tried at once", newReleasedEvent(req.Reason)), nil
	}
	return unchanged("it is neither suspended, draining nor blocked")
}

// resetOrder clears failures, quarantine and limits and closes the conversation. A session that is
// to run starts at once; its next start begins a new conversation.
func resetOrder(c *orderCase, req client.LifecycleRequest) (orderOutcome, error) {
	r := &c.Record
	talk := &r.Conversation
	open := talk.ID != "" && !talk.Closed
	if !open && len(r.Failures) == 0 && r.Fault == "" && r.NextAt.IsZero() && r.Obstacle.Kind == "" {
		return unchanged("there is nothing to reset")
	}
	detail := fmt.Sprintf("%d failures cleared", len(r.Failures))
	if open {
		talk.Closed, talk.Former = true, nil
		detail += "; the next start begins a new conversation"
	}
	r.ResetFailures()
	r.Obstacle = session.Obstacle{}
	out := changedOutcome(detail, orderEvent{event.SessionReset, "the session's failures were cleared", map[string]string{"reason": req.Reason}})
	out.Retry = true
	return out, nil
}
