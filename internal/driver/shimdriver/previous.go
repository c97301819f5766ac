package shimdriver

import (
	"context"
	"errors"

	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// This file drives the terminal of a shim of the previous release, which does not type prompts itself: each key and each look
// at the screen is a request. It can be deleted, together with the file of the same name in package shim, one release after the
// release that added [shim.State.Delivers].

// deliverByRequests is [deliverPrompt] for such a shim.
func (l Live) deliverByRequests(ctx context.Context, p inject.Prompt) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return inject.Unsent(err)
	}
	defer t.Close()
	return inject.Deliver(ctx, t, l.Delivery, p, l.Rules)
}

// resolveByRequests is [resolvePrompt] for such a shim.
func (l Live) resolveByRequests(ctx context.Context) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	return inject.ResolveDelivery(ctx, t, l.Delivery, l.Rules)
}

// writeByRequests is [Live.DeliverInput] for such a shim.
func (l Live) writeByRequests(ctx context.Context, input []byte) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy, Detail: "no byte was sent: " + err.Error()}, nil
	}
	defer t.Close()
	out, err := inject.DeliverInput(ctx, pipeLease{t}, l.Delivery, input)
	if errors.Is(err, errStopped) {
		err = nil
	}
	return out, err
}

var errStopped = errors.New("the session stopped while the prompt was written")

// pipeLease returns errStopped if the shim exited during a write: the agent may have read a part.
type pipeLease struct{ *Leased }

// Type writes input. If the shim disconnected, the error is errStopped.
func (p pipeLease) Type(ctx context.Context, in inject.Input, input []byte) error {
	err := p.Leased.Type(ctx, in, input)
	if errors.Is(err, shim.ErrDisconnected) {
		return errStopped
	}
	return err
}

// recordByRequests is [resolvePrompt] for such a shim of an agent without a terminal.
func (l Live) recordByRequests(ctx context.Context) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	return inject.ResolveInput(ctx, t, l.Delivery)
}

// byRequests delivers through a shim of a previous gc, which cannot deliver prompts itself: do sends the keys by requests to the
// shim, with its terminal.
func (l Live) byRequests(ctx context.Context, do func(context.Context, inject.Lease, screen.Rules) error) error {
	t, err := l.Lease(ctx)
	if err != nil {
		return err
	}
	defer t.Close()
	return do(ctx, t, l.Rules)
}

// Leased is a session's terminal for one delivery. The shim records its input in the journal. After the lease has ended, no
// more of its input can arrive.
type Leased struct {
	screen.Terminal
	lease *shim.Lease
}

var (
	_ inject.Lease       = (*Leased)(nil)
	_ inject.SeenJournal = (*Leased)(nil)
	_ screen.Holder      = (*Leased)(nil)
)

// Lease acquires the right to deliver prompts to the session.
func (l Live) Lease(ctx context.Context) (*Leased, error) {
	lease, err := l.Client.Lease(ctx)
	if err != nil {
		return nil, translateExit(err)
	}
	return &Leased{l.Terminal, lease}, nil
}

// Close releases the right.
func (t *Leased) Close() { t.lease.Close() }

// Send implements screen.Terminal.
func (t *Leased) Send(ctx context.Context, p []byte) error {
	return translateExit(t.lease.Send(ctx, p))
}

// Hold implements screen.Holder.
func (t *Leased) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.lease.Hold(ctx)
	return release, translateExit(err)
}

// Begin implements inject.Journal.
func (t *Leased) Begin(ctx context.Context, id, text string, undo []byte) error {
	return translateExit(t.lease.Begin(ctx, id, text, undo))
}

// Type implements inject.Journal.
func (t *Leased) Type(ctx context.Context, in inject.Input, p []byte) error {
	return translateExit(t.lease.Type(ctx, in, p))
}

// TypeSeen implements inject.SeenJournal.
func (t *Leased) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
	return translateExit(t.lease.TypeSeen(ctx, seen, in, p))
}

// Account implements inject.Journal.
func (t *Leased) Account(ctx context.Context, id string) (inject.DeliveryAccount, error) {
	a, err := t.lease.Account(ctx, id)
	return a, translateExit(err)
}

// RecordOutcome implements inject.Journal.
func (t *Leased) RecordOutcome(ctx context.Context, e inject.DeliveryEntry) error {
	return translateExit(t.lease.RecordOutcome(ctx, e))
}
