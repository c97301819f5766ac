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

// Nudge accepts a prompt for the target and returns its receipt when that is saved. With req.Wait
// it returns when the receipt has that state or has ended. It returns client.ErrRefused if the
// target accepts no prompts, or if the key was used for another prompt. It returns
// client.ErrUnavailable if the store fails. In that case a prompt without a key is withdrawn if it
// was saved after all. A prompt with a key is sent if it was saved, and a repeated call with the
// same key does not send it twice.
func (e *Engine) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	return e.nudge(ctx, target, req, "")
}

// nudge does the work of Nudge. retryOf is the ID of the receipt that the prompt repeats, or empty.
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

// receiptFor returns a new receipt for a request, after all checks that need no target.
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

// accept binds the receipt to an instance and saves it. If its key is known, it returns the
// existing receipt.
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

// bind sets the instance of the receipt. It returns client.ErrRefused if no instance can get the
// prompt.
func bind(r *prompt.Receipt, v session.Snapshot, req client.NudgeRequest) error {
	if err := refusal(v, v.Agent); err != nil {
		return err
	}
	r.Successor, r.Instance = req.Successor, req.Instance
	switch {
	case v.Unknown != "": // the running instance is not known: the prompt waits for the requested instance, or the next one
		return nil
	case v.Running && r.Instance == "":
		r.Instance, r.Conversation = v.Instance, v.Conversation.ID
	case r.Instance != "" && !r.Successor && (!v.Running || v.Instance != r.Instance):
		return fmt.Errorf("%w: stale instance: the instance %s of %s does not run any more", client.ErrRefused, r.Instance, v.Agent)
	}
	return nil
}

// checkCapacity returns client.ErrRefused if the queue is full.
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
		return fmt.Errorf("%w: the controller is stopping", client.ErrUnavailable)
	case <-ctx.Done():
		return fmt.Errorf("%w: the controller has not read its prompts yet; try again", client.ErrUnavailable)
	}
}

// EditPrompt changes a queued prompt. It stays in its position among the prompts of its priority.
// EditPrompt returns client.ErrRefused if the prompt is being delivered or has ended.
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

// amend changes a queued prompt and returns it.
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

// tooLate returns the error for a prompt that is no longer queued.
func tooLate(id, state string) error {
	return fmt.Errorf("%w: the prompt %s is no longer waiting: it is %s", client.ErrRefused, id, state)
}
