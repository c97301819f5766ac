package app

import (
	"cmp"
	"context"
	"errors"

	"gascity/client"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/hookrunner"
)

// promptHold says why a session gets no prompts: its budget, its guard, or a credential.
func (e *engines) promptHold(v session.Snapshot) string {
	return cmp.Or(e.spending.PromptHold(v), e.unproved(v), e.broker.PromptHold(v.Session))
}

// unproved says why a session gets no prompts because of its guard. One that can only show
// with a prompt that it asks, and was started without one, gets its first, and no other
// until it has shown it.
func (e *engines) unproved(v session.Snapshot) string {
	why := e.workers.PromptHold(v)
	if why == "" || e.prompts.Prompted(v.Session, v.Instance) || !e.silent(v) {
		return why
	}
	return ""
}

// silent reports whether an agent CLI calls no hook yet: it was started without a prompt.
func (e *engines) silent(v session.Snapshot) bool {
	cli, known := e.hooksOf(v)
	return known && cli.Late && !e.opens(v)
}

// opens reports whether an agent CLI begins with the prompt of its command lineand reports
// it by hooks.
func (e *engines) opens(v session.Snapshot) bool {
	_, known := e.hooksOf(v)
	return known && !v.Conversation.IsResumed() && e.desired(v.Agent).Config.PromptSuffix != ""
}

func (e *engines) hooksOf(v session.Snapshot) (hooks.CLI, bool) {
	return hooks.Lookup(e.desired(v.Agent).Config.Env[hookrunner.VariableHooks])
}

// guarded adds to what is shown of an agent what is known of its guard.
func (e *engines) guarded(a *client.Agent, view func(string) (session.Snapshot, error)) {
	if a.State != client.StateRunning {
		return
	}
	a.Guard, a.GuardDetail = e.workers.GuardOf(a.Session)
	if v, err := view(a.Session); err == nil {
		a.Held = cmp.Or(a.Held, e.unproved(v), e.broker.PromptHold(v.Session))
	}
}

// enforce has the city act on an instance that ran what was denied. One that cannot
// be suspended is ended at least.
func (k *controllerProcess) enforce(ctx context.Context, name, instance, reason string, act guard.Bypass) error {
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
