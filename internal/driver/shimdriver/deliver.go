package shimdriver

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/driver"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Deliver implements driver.LocalSession, in the way that the driver has chosen.
func (l Live) Deliver(ctx context.Context, a driver.Attempt, p inject.Prompt) (runtime.Outcome, error) {
	l.Attempt = a
	return l.sessions.deliver(ctx, l, p)
}

// Resolve implements driver.LocalSession, in the way that the driver has chosen.
func (l Live) Resolve(ctx context.Context, a driver.Attempt) (runtime.Outcome, error) {
	l.Attempt = a
	return l.sessions.settle(ctx, l)
}

// deliverPrompt types a prompt into the session's terminal and returns the outcome. The shim does that, with one request.
func deliverPrompt(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error) {
	if !l.observed.State.Delivers {
		return l.deliverByRequests(ctx, p)
	}
	out, err := l.Client.Deliver(ctx, &shim.DeliverRequest{
		Name: l.deliveryName(), ID: l.Delivery, Text: []byte(p.Text), Rules: l.Rules,
		Confirm: p.Confirm, Answer: p.Answer, AllowChanges: p.AllowChanges,
	})
	return out, translateExit(err)
}

// deliveryName returns the name of one attempt to deliver a prompt; empty if the caller does not count the attempts.
func (l Live) deliveryName() string {
	if l.Number == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", l.Delivery, l.Number)
}

// DeliverInput writes a prompt to the input of an agent without a terminal and returns the outcome. input are the bytes of the
// prompt.
func (l Live) DeliverInput(ctx context.Context, input []byte) (runtime.Outcome, error) {
	if !l.observed.State.Delivers {
		return l.writeByRequests(ctx, input)
	}
	out, err := l.Client.Deliver(ctx, &shim.DeliverRequest{Name: l.deliveryName(), ID: l.Delivery, Text: input})
	return out, translateExit(err)
}

// resolvePrompt returns the outcome of a delivery that was interrupted, see [inject.ResolveDelivery]. It waits for a delivery
// that still runs in the shim.
func resolvePrompt(ctx context.Context, l Live) (runtime.Outcome, error) {
	switch {
	case !l.observed.State.Delivers && l.Terminal == nil:
		return l.recordByRequests(ctx)
	case !l.observed.State.Delivers:
		return l.resolveByRequests(ctx)
	}
	out, err := l.Client.Resolve(ctx, shim.ResolveRequest{Name: l.deliveryName(), ID: l.Delivery, Rules: l.Rules})
	return out, translateExit(err)
}

// ClearInput empties the agent's input box, see [inject.ClearInput].
func (l Live) ClearInput(ctx context.Context) error {
	if !l.observed.State.Delivers {
		return l.byRequests(ctx, inject.ClearInput)
	}
	return translateExit(l.Client.ClearInput(ctx, l.Rules))
}

// Interrupt implements driver.LocalSession.
func (l Live) Interrupt(ctx context.Context) error {
	switch {
	case l.sessions.host != nil:
		return l.sessions.host.Interrupt(ctx, l)
	case l.Terminal == nil:
		return l.Client.Interrupt(ctx)
	case !l.observed.State.Delivers:
		return l.byRequests(ctx, inject.Interrupt)
	}
	return translateExit(l.Client.InterruptTurn(ctx, l.Rules))
}

// translateExit replaces the shim's errors about an exit by [screen.ErrExited]. If it is unknown whether the shim carried out
// the request, the result also matches [shim.ErrDisconnected].
func translateExit(err error) error {
	switch {
	case errors.Is(err, shim.ErrDisconnected):
		return fmt.Errorf("%w (%w)", screen.ErrExited, shim.ErrDisconnected)
	case errors.Is(err, shim.ErrNoShim), errors.Is(err, shim.ErrExited):
		return screen.ErrExited
	}
	return err
}

// cancel stops a delivery that still runs, also for another process.
func (s *Sessions) cancel(ctx context.Context, l Live, a driver.Attempt) {
	if l.Attempt = a; l.observed.State.Delivers {
		_ = l.Client.CancelName(ctx, l.deliveryName()) // it may have ended
	}
}

// SaveAnswer implements driver.LocalSession.
func (l Live) SaveAnswer(ctx context.Context, question string) error {
	return l.Client.Answered(ctx, l.Life.Add(question).Last)
}

// SaveHints implements driver.LocalSession.
func (l Live) SaveHints(ctx context.Context, hints runtime.Hints) error {
	return l.Client.SetHints(ctx, shim.Hints{ProcessNames: hints.ProcessNames, Labels: screen.HintedLabels(l.Labels, hints)})
}
