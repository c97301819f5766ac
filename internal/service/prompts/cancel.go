package prompts

import (
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// CancelPrompt cancels a prompt that is not with its agent yet. One that waits is cancelled at
// once. The delivery of one that is being delivered is ended, and its driver asked to remove
// the text: the receipt is then cancelled if not a byte is with the agent, and unconfirmed if
// that cannot be proved. A prompt that the agent has accepted, or whose receipt has ended, is
// client.ErrRefused.
func (e *Engine) CancelPrompt(ctx context.Context, id string) (client.Receipt, error) {
	if err := e.ready(ctx); err != nil {
		return client.Receipt{}, err
	}
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
			done, err := e.amend(ctx, id, func(r prompt.Receipt) (prompt.Receipt, error) {
				return r.Move(prompt.Cancelled, e.opts.Now(), "cancelled by its sender; not a byte of it is with the agent")
			})
			if errors.Is(err, client.ErrRefused) {
				continue // its delivery has begun meanwhile
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
			return client.Receipt{}, fmt.Errorf("%w: the delivery of the prompt %s is being ended; show its delivery status with: gc receipt %s", client.ErrTimeout, id, id)
		case <-e.done:
			return client.Receipt{}, fmt.Errorf("%w: the controller ends; the prompt %s is cancelled by the next one", client.ErrUnavailable, id)
		}
	}
}

// cancelDelivery keeps that the prompt is to be cancelled, and has its owner see to it.
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

// notCancelled is why a prompt cannot be cancelled any more.
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

// abortCancelled ends the attempt under way if its prompt was cancelled: its driver then
// removes what it has typed, or says that it does not know.
func (o *owner) abortCancelled() {
	if o.currentOp == "" || o.currentOpKind != opDelivery {
		return
	}
	if r, ok := o.find(o.currentOp); ok && r.State == prompt.Injected && !r.CancelAt.IsZero() {
		o.cancel()
	}
}
