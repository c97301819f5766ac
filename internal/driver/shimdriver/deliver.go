package shimdriver

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// deliverPrompt types a prompt into the session's terminal and returns the outcome. The shim does that, with one request.
func deliverPrompt(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error) {
	switch {
	case p.Text == "":
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	case !l.delivers:
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
	if l.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", l.Delivery, l.Attempt)
}

// DeliverInput writes a prompt to the input of an agent without a terminal and returns the outcome. input are the bytes of the
// prompt.
func (l Live) DeliverInput(ctx context.Context, input []byte) (runtime.Outcome, error) {
	if !l.delivers {
		return l.writeByRequests(ctx, input)
	}
	out, err := l.Client.Deliver(ctx, &shim.DeliverRequest{Name: l.deliveryName(), ID: l.Delivery, Text: input})
	return out, translateExit(err)
}

// resolvePrompt returns the outcome of a delivery that was interrupted, see [inject.ResolveDelivery]. It waits for a delivery
// that still runs in the shim.
func resolvePrompt(ctx context.Context, l Live) (runtime.Outcome, error) {
	switch {
	case !l.delivers && l.Terminal == nil:
		return l.recordByRequests(ctx)
	case !l.delivers:
		return l.resolveByRequests(ctx)
	}
	out, err := l.Client.Resolve(ctx, shim.ResolveRequest{Name: l.deliveryName(), ID: l.Delivery, Rules: l.Rules})
	return out, translateExit(err)
}

// ClearInput empties the agent's input box, see [inject.ClearInput].
func (l Live) ClearInput(ctx context.Context) error {
	if !l.delivers {
		return l.byRequests(ctx, inject.ClearInput)
	}
	return translateExit(l.Client.ClearInput(ctx, l.Rules))
}

// interruptTurn interrupts the agent's turn, see [inject.Interrupt].
func (l Live) interruptTurn(ctx context.Context) error {
	if !l.delivers {
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

// Settle implements runtime.Settler.
func (s *Sessions) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return inject.RetryUntilKnown(ctx, func() (runtime.Outcome, error) { return s.resolveOnce(ctx, name, d) })
}

// resolveOnce asks once for the outcome of a delivery, with the session's input locked.
func (s *Sessions) resolveOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	err := s.Drive(ctx, "settle a prompt of", name, inject.Fence(d.Instance), func(l Live) (err error) {
		l.Attempt = d.Attempt
		if l.Delivery, err = inject.DeliveryIDOf(d); err == nil {
			out, err = s.settle(ctx, l)
		}
		return err
	})
	return out, err
}

// Withdraw implements runtime.Withdrawer. It stops the delivery if it still runs, also for another process.
func (s *Sessions) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	l, err := s.Session(ctx, "withdraw a prompt of", name)
	if err == nil && l.delivers && d.ID != "" && d.Attempt > 0 && (d.Instance == "" || d.Instance == l.Instance) {
		l.Delivery, l.Attempt = d.ID, d.Attempt
		_ = l.Client.CancelName(ctx, l.deliveryName()) // without it Settle waits until the delivery has ended
	}
	out, err := s.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused, err
}
