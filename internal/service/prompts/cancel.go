package prompts

import (
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// CancelPrompt cancels a prompt that its agent has not accepted. A queued prompt is cancelled at
// once. If the prompt is being delivered, the delivery is stopped and the driver is asked to remove
// the text. The receipt is then cancelled if the agent provably has no part of the text, and
// unconfirmed otherwise. CancelPrompt returns client.ErrRefused if the agent has accepted the
// prompt or the receipt has ended.
func (e *Engine) CancelPrompt(ctx context.Context, id string) (client.Receipt, error) {
	for asked := false; ; {
		r, b, err := e.read(ctx, id)
		switch {
		case err != nil:
			return client.Receipt{}, err
		case asked && r.State != prompt.Injected && r.State != prompt.Submitted && r.State != prompt.Consumed:
			return e.answer(b, r), nil
		case r.Final(), r.State == prompt.Submitted:
			return client.Receipt{}, notCancelled(r)
		case r.IsQueued():
			done, err := e.amend(ctx, id, func(_ *sessionQueue, r prompt.Receipt) (prompt.Receipt, error) {
				return r.Move(prompt.Cancelled, e.opts.Now(), "cancelled by its sender; not a byte of it is with the agent")
			})
			if errors.Is(err, client.ErrRefused) {
				continue // the delivery has started meanwhile
			}
			return done, err
		}
		if !asked {
			if err := e.cancelDelivery(ctx, b, id); err != nil {
				return client.Receipt{}, err
			}
			asked = true
			continue
		}
		changed, same := e.changeOf(b, r)
		if !same {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return client.Receipt{}, fmt.Errorf("%w: the delivery of the prompt %s is being stopped; show its delivery status with: gc receipt %s", client.ErrTimeout, id, id)
		case <-e.life.Ended():
			return client.Receipt{}, fmt.Errorf("%w: the controller is stopping; the next controller cancels the prompt %s", client.ErrUnavailable, id)
		}
	}
}

// cancelDelivery saves the request to cancel an injected prompt. The save wakes the owner, which
// stops the delivery.
func (e *Engine) cancelDelivery(ctx context.Context, b *sessionQueue, id string) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if r.State != prompt.Injected || !r.CancelAt.IsZero() {
			return r, errEnded
		}
		r.CancelAt = e.opts.Now()
		return r, nil
	})
	switch {
	case err == nil, errors.Is(err, errEnded):
		return nil
	case errors.Is(err, client.ErrTimeout):
		return err
	}
	return fmt.Errorf("%w: cannot save that the prompt %s is cancelled: %w", client.ErrUnavailable, id, err)
}

// notCancelled returns the error that explains why a prompt in its present state cannot be
// cancelled.
func notCancelled(r prompt.Receipt) error {
	switch r.State {
	case prompt.Submitted, prompt.Consumed:
		return fmt.Errorf("%w: %s has accepted the prompt %s (%s), gc cannot take it back; to end its turn: gc interrupt %s", client.ErrRefused, r.Agent, r.ID, r.State, r.Agent)
	case prompt.Unconfirmed:
		return fmt.Errorf("%w: the delivery of the prompt %s has ended as unconfirmed: the agent may have got it; look with: gc peek %s", client.ErrRefused, r.ID, r.Agent)
	default:
		return fmt.Errorf("%w: the prompt %s is %s already", client.ErrRefused, r.ID, r.State)
	}
}

// abortCancelled stops the running delivery if its sender has cancelled the prompt. The driver then
// removes the text that it has typed, or reports that the outcome is unknown.
func (o *owner) abortCancelled() {
	if o.currentOp == "" || o.currentOpKind != opDelivery {
		return
	}
	if r, ok := o.find(o.currentOp); ok && r.State == prompt.Injected && !r.CancelAt.IsZero() {
		o.cancel()
	}
}
