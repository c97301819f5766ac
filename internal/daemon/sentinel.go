package daemon

import (
	"cmp"
	"context"
	"errors"

	"gascity/client"
	"gascity/internal/guard"
	"gascity/internal/session"
)

// hold says why a session gets no prompts: its budget, its guard, or a credential.
func (e *engines) hold(v session.View) string {
	return cmp.Or(e.spending.Hold(v), e.workers.Hold(v), e.broker.Hold(v.Session))
}

// guarded adds to what is shown of an agent what is known of its guard.
func (e *engines) guarded(a *client.Agent, view func(string) (session.View, error)) {
	if a.State != client.StateRunning {
		return
	}
	a.Guard, a.GuardDetail = e.workers.GuardOf(a.Session)
	if v, err := view(a.Session); err == nil {
		a.Held = cmp.Or(a.Held, e.workers.Hold(v), e.broker.Hold(v.Session))
	}
}

// punish has the city act on an incarnation that ran what was denied. One that cannot
// be suspended is ended at least.
func (k *keeper) punish(ctx context.Context, name, instance, reason string, act guard.Bypass) error {
	c := k.controller.Load()
	if c == nil {
		return errNoCity
	}
	req := client.LifecycleRequest{Instance: instance, Reason: reason}
	if act == guard.BypassInterrupt {
		_, err := c.Interrupt(ctx, name, req)
		return err
	}
	_, err := c.Suspend(ctx, name, req)
	if err != nil {
		req.Force = true
		_, killed := c.Kill(ctx, name, req)
		err = errors.Join(err, killed)
	}
	return err
}
