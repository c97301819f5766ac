package pty

import (
	"context"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// deliver types one prompt into the session's terminal.
func deliver(ctx context.Context, l shimdriver.Live, p inject.Prompt) (runtime.Outcome, error) {
	if p.Text == "" {
		return inject.Type(ctx, l.Terminal, p, l.Rules)
	}
	t, err := l.Lease(ctx)
	if err != nil {
		return inject.Unsent(err)
	}
	defer t.Close()
	return inject.Deliver(ctx, t, l.Delivery, p, l.Rules)
}

// resolveDelivery returns the outcome of a delivery that was interrupted.
func resolveDelivery(ctx context.Context, l shimdriver.Live) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	return inject.ResolveDelivery(ctx, t, l.Delivery, l.Rules)
}

// ClearInput implements runtime.InputClearer.
func (p *Provider) ClearInput(ctx context.Context, name, instance string) error {
	var token *string
	if instance != "" {
		token = &instance
	}
	return p.Drive(ctx, "clear the input box of", name, token, func(l shimdriver.Live) error {
		t, err := l.Lease(ctx)
		if err != nil {
			return err
		}
		defer t.Close()
		return inject.ClearInput(ctx, t, l.Rules)
	})
}

// NudgeNow implements runtime.ImmediateNudgeProvider. Nudge of this driver never waits for an idle
// agent, so NudgeNow calls it.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}
