package prompts

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// Nudge takes a prompt for the target and returns its receipt when it is
// durable, or, with req.Wait, when it has come so far or ended. A target that
// takes no prompts is client.ErrRefused, and so is a key that was used before for
// another prompt. If the store fails it is client.ErrUnavailable: a prompt without
// a key is then withdrawn if it was kept all the same, one with a key is sent, and
// not twice if its sender asks again.
func (e *Engine) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	return e.nudge(ctx, target, req, "")
}

// nudge is Nudge for a prompt that may repeat another one.
func (e *Engine) nudge(ctx context.Context, target string, req client.NudgeRequest, retryOf string) (client.Receipt, error) {
	r, err := e.receiptFor(req)
	if err == nil {
		err = e.ready(ctx)
	}
	if err != nil {
		return client.Receipt{}, err
	}
	v, err := e.opts.City.Snapshot(target)
	if err != nil {
		return client.Receipt{}, err
	}
	r.Session, r.Agent, r.RetryOf = v.Session, v.Agent, retryOf
	if err := e.beginCall(req.Wait); err != nil {
		return client.Receipt{}, err
	}
	defer e.endCall(req.Wait)
	kept, err := e.accept(ctx, r, v, req)
	if err != nil {
		return client.Receipt{}, err
	}
	return e.await(ctx, kept.ID, req.Wait)
}

// receiptFor makes the receipt of a request, checked as far as it can be without
// its target.
func (e *Engine) receiptFor(req client.NudgeRequest) (prompt.Receipt, error) {
	blocks, err := content(req.Text, req.Files)
	if err != nil {
		return prompt.Receipt{}, err
	}
	priority, err := priorityOf(req.Priority)
	if err != nil {
		return prompt.Receipt{}, err
	}
	ttl, err := ttlOf(req.TTL)
	if err != nil {
		return prompt.Receipt{}, err
	}
	if err := checkWait(req.Wait); err != nil {
		return prompt.Receipt{}, err
	}
	if err := checkMetadata(req.Metadata); err != nil {
		return prompt.Receipt{}, err
	}
	now := e.opts.Now()
	return prompt.Receipt{
		Metadata: maps.Clone(req.Metadata), Literal: req.Literal, AllowChanges: req.AllowChanges,
		ID: e.opts.NewID(), Content: blocks, Bytes: len(req.Text), Head: head(req.Text), Priority: priority, Key: req.Key, Source: req.Source, Digest: digest(blocks),
		State: prompt.Queued, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(ttl),
		Steps: []prompt.Step{{State: prompt.Accepted, At: now}, {State: prompt.Queued, At: now}},
	}, nil
}

// accept binds the receipt to the instance that it is for, and keeps it.
func (e *Engine) accept(ctx context.Context, r prompt.Receipt, v session.Snapshot, req client.NudgeRequest) (prompt.Receipt, error) {
	e.mu.Lock()
	b := e.queueLocked(v.Session, v.Agent)
	e.mu.Unlock()
	if err := b.begin(ctx); err != nil {
		return prompt.Receipt{}, err
	}
	defer b.end()
	if err := bind(&r, v, req); err != nil {
		if known, ok := e.findByKey(ctx, b, r.Key); ok {
			return known, samePrompt(known, r)
		}
		return prompt.Receipt{}, err
	}
	if err := e.checkCapacity(b, r); err != nil {
		return prompt.Receipt{}, err
	}
	kept, known, err := e.saveNew(ctx, b, r)
	if err != nil {
		return kept, err
	}
	if !known {
		kept.Content = r.Content
	} else if err := samePrompt(kept, r); err != nil {
		return kept, err
	}
	e.put(b, kept)
	return kept, nil
}

// bind says which instance the receipt is for, or why there can be none.
func bind(r *prompt.Receipt, v session.Snapshot, req client.NudgeRequest) error {
	if err := refusal(v, v.Agent); err != nil {
		return err
	}
	r.Successor, r.Instance = req.Successor, req.Instance
	switch {
	case v.Unknown != "": // what runs is not known: it is held for whom it is said to be for, or the next
		return nil
	case v.Running && r.Instance == "":
		r.Instance, r.Conversation = v.Instance, v.Conversation.ID
	case r.Instance != "" && !r.Successor && (!v.Running || v.Instance != r.Instance):
		return fmt.Errorf("%w: stale instance: the instance %s of %s does not run any more", client.ErrRefused, r.Instance, v.Agent)
	}
	return nil
}

// checkCapacity refuses what a queue cannot hold.
func (e *Engine) checkCapacity(b *sessionQueue, r prompt.Receipt) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(b.receipts) >= maxWaiting || b.bytes+r.Bytes > maxWaitingBytes {
		return fmt.Errorf("%w: the queue of %s is full: %d prompts with %d bytes", client.ErrRefused, b.agent, len(b.receipts), b.bytes)
	}
	return nil
}

// ready waits until the receipts are read.
func (e *Engine) ready(ctx context.Context) error {
	select {
	case <-e.loaded:
		return nil
	default:
	}
	select {
	case <-e.loaded:
		return nil
	case <-e.done:
		return fmt.Errorf("%w: the controller ends", client.ErrUnavailable)
	case <-ctx.Done():
		return fmt.Errorf("%w: the prompts cannot be read yet", client.ErrUnavailable)
	}
}

// EditPrompt changes a prompt that waits; it keeps its place among those of its
// priority. One that is on its way or over is client.ErrRefused.
func (e *Engine) EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error) {
	return e.amend(ctx, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		now := e.opts.Now()
		if req.Text != nil {
			blocks, err := replaceText(r.Content, *req.Text)
			if err != nil {
				return r, err
			}
			r.Content, r.Bytes, r.Head = blocks, len(*req.Text), head(*req.Text)
		}
		if req.Priority != nil {
			p, err := priorityOf(*req.Priority)
			if err != nil {
				return r, err
			}
			r.Priority = p
		}
		if req.TTL != nil {
			ttl, err := ttlOf(*req.TTL)
			if err != nil {
				return r, err
			}
			r.ExpiresAt = now.Add(ttl)
		}
		return r.AddStep(now, "changed by its sender"), nil
	})
}

// amend changes a prompt that waits, and returns it.
func (e *Engine) amend(ctx context.Context, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) (client.Receipt, error) {
	if err := e.ready(ctx); err != nil {
		return client.Receipt{}, err
	}
	e.mu.Lock()
	b := e.index[id]
	e.mu.Unlock()
	if b == nil {
		r, found, err := e.read(ctx, id)
		if err != nil {
			return client.Receipt{}, err
		}
		if found == nil {
			return client.Receipt{}, tooLate(id, string(r.State))
		}
		b = found
	}
	r, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.IsQueued() {
			return r, tooLate(id, string(r.State))
		}
		return edit(r)
	})
	switch {
	case err == nil:
		return e.answer(b, r), nil
	case errors.Is(err, errEnded):
		return client.Receipt{}, tooLate(id, "over")
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrTimeout):
		return client.Receipt{}, err
	default:
		return client.Receipt{}, fmt.Errorf("%w: cannot save the prompt %s: %w", client.ErrUnavailable, id, err)
	}
}

func tooLate(id, state string) error {
	return fmt.Errorf("%w: the prompt %s does not wait any more: it is %s", client.ErrRefused, id, state)
}
