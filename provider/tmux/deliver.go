package tmux

import (
	"context"
	"io"
	"time"

	"gascity/internal/driver"
	"gascity/internal/fsutil"
	"gascity/internal/overlay"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Deliver implements runtime.Deliverer.
func (p *Provider) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var out runtime.Outcome
	err := p.drive(ctx, "nudge", name, inject.Fence(d.Instance), func(s drivenSession) (err error) {
		out, err = inject.Submit(d, s.WorkDir, func(id string, prompt inject.Prompt) (runtime.Outcome, error) {
			return s.deliver(ctx, id, prompt)
		})
		return err
	})
	return inject.DeliveryResult(out, err)
}

// deliver types the prompt into the session and returns the outcome. A prompt without text is not logged. The
// caller holds the session's input lock.
func (s drivenSession) deliver(ctx context.Context, id string, prompt inject.Prompt) (runtime.Outcome, error) {
	if prompt.Text == "" {
		return inject.Type(ctx, s.terminal, prompt, s.rules)
	}
	l, err := s.lease(ctx)
	if err != nil {
		return inject.Unsent(err)
	}
	return inject.Deliver(ctx, l, id, prompt, s.rules)
}

// Settle implements runtime.Settler.
func (p *Provider) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return inject.RetryUntilKnown(ctx, func() (runtime.Outcome, error) { return p.resolveOnce(ctx, name, d) })
}

// resolveOnce resolves the outcome of a delivery once, under the session's input lock.
func (p *Provider) resolveOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	err := p.drive(ctx, "settle a prompt of", name, inject.Fence(d.Instance), func(s drivenSession) error {
		id, err := inject.DeliveryIDOf(d)
		if err != nil {
			return err
		}
		l, err := s.lease(ctx)
		if err != nil {
			return err
		}
		out, err = inject.ResolveDelivery(ctx, l, id, s.rules)
		return err
	})
	return out, err
}

// Withdraw implements runtime.Withdrawer.
func (p *Provider) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	out, err := p.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused, err
}

// ClearInput implements runtime.InputClearer.
func (p *Provider) ClearInput(ctx context.Context, name, instance string) error {
	return p.drive(ctx, "clear the input box of", name, inject.Fence(instance), func(s drivenSession) error {
		l, err := s.lease(ctx)
		if err != nil {
			return err
		}
		return inject.ClearInput(ctx, l, s.rules)
	})
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	return fold("nudge", name, driver.Nudge(p, name, content))
}

// NudgeNow implements runtime.ImmediateNudgeProvider. It equals Nudge, which never waits for an idle agent: it
// delivers the text or refuses it.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	const op = "wait for idle"
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	driven := p.drivenSessionOf(s)
	return fold(op, name, screen.Idle(ctx, driven.terminal, driven.rules, timeout))
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (p *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	return p.drive(ctx, "dismiss dialogs of", name, nil, func(s drivenSession) error {
		_, err := screen.Dismiss(ctx, s.terminal, s.rules, timeout)
		return err
	})
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	s, err := p.observeOp(ctx, "copy to", name)
	if err != nil || s.state == nil {
		return err
	}
	return fold("copy to", name, overlay.CopyTo(s.record.WorkDir, src, relDst))
}

// CopyFrom implements runtime.CopyFromProvider.
func (p *Provider) CopyFrom(ctx context.Context, name, src string, w io.Writer) error {
	const op = "copy from"
	s, err := p.observeOp(ctx, op, name)
	if err == nil && s.state == nil {
		err = runtime.ErrSessionNotFound
	}
	if err == nil {
		err = fsutil.PackArchiveFrom(w, s.record.WorkDir, src)
	}
	return fold(op, name, err)
}
