package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
	"gascity/internal/textfmt"
	"gascity/runtime"
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

// nudge does the work of [Engine.Nudge]. retryOf is the ID of the receipt whose prompt is sent again; empty: it is a new prompt.
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

// receiptFor checks a request as far as that is possible without its target, and returns a new receipt for it.
func (e *Engine) receiptFor(req client.NudgeRequest) (prompt.Receipt, error) {
	if err := req.Check(); err != nil {
		return prompt.Receipt{}, err
	}
	blocks, err := content(req.Text, req.Files)
	if err != nil {
		return prompt.Receipt{}, err
	}
	now := e.opts.Now()
	return prompt.Receipt{
		Metadata: maps.Clone(req.Metadata), Literal: req.Literal, AllowChanges: req.AllowChanges,
		ID: e.opts.NewID(), Content: blocks, Bytes: len(req.Text), Head: textfmt.Truncate(req.Text, headBytes), Priority: priorityOf(req.Priority), Key: req.Key, Source: req.Source, Digest: digest(blocks),
		State: prompt.Queued, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(cmp.Or(req.TTL, defaultTTL)),
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
	e.put(ctx, b, kept)
	return kept, nil
}

// bind decides which instance gets the prompt, and stores that in the receipt. It returns client.ErrRefused if no instance can
// get it.
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

// ready waits until the engine has read the receipts from the store. It returns an error if ctx ends before that or the engine
// has stopped.
func (e *Engine) ready(ctx context.Context) error {
	err := e.life.WaitLoaded(ctx)
	if err != nil && !errors.Is(err, engine.ErrEnded) {
		return fmt.Errorf("%w: the controller has not read its prompts yet; try again", client.ErrUnavailable)
	}
	return err
}

// EditPrompt changes a queued prompt. It stays in its position among the prompts of its priority.
// EditPrompt returns client.ErrRefused if the prompt is being delivered or has ended.
func (e *Engine) EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error) {
	if err := req.Check(id); err != nil {
		return client.Receipt{}, err
	}
	r, err := e.amend(ctx, id, func(_ *sessionQueue, r prompt.Receipt) (prompt.Receipt, error) {
		now := e.opts.Now()
		if req.Text != nil {
			blocks, err := content(*req.Text, filesOf(r.Content))
			if err != nil {
				return r, err
			}
			r.Content, r.Bytes, r.Head = blocks, len(*req.Text), textfmt.Truncate(*req.Text, headBytes)
		}
		if req.Priority != nil {
			if to := priorityOf(*req.Priority); to != r.Priority {
				r.Priority, r.Place = to, 0
			}
		}
		if req.TTL != nil {
			r.ExpiresAt = now.Add(*req.TTL)
		}
		return r.AddStep(now, "changed by "+cmp.Or(req.By, "its sender")), nil
	})
	if err == nil {
		e.reportChange(ctx, r, event.PromptEdited, "a prompt that waits was changed", map[string]string{"by": req.By})
	}
	return r, err
}

// MovePrompt moves a queued prompt among those of its priority. It returns client.ErrRefused if the prompt, or the one before which
// it is to go, is being delivered or has ended.
func (e *Engine) MovePrompt(ctx context.Context, id string, req client.MoveRequest) (client.Receipt, error) {
	if err := req.Check(id); err != nil {
		return client.Receipt{}, err
	}
	if req.Before != "" {
		before, _, err := e.read(ctx, req.Before)
		if err != nil {
			return client.Receipt{}, err
		}
		if !before.IsQueued() {
			return client.Receipt{}, tooLate(req.Before, string(before.State))
		}
	}
	next := req.Before
	r, err := e.amend(ctx, id, func(b *sessionQueue, r prompt.Receipt) (prompt.Receipt, error) {
		open := e.open(b)
		if req.First {
			next = firstOf(open, &r)
		}
		if next != "" {
			i := slices.IndexFunc(open, func(x *prompt.Receipt) bool { return x.ID == next })
			switch {
			case i < 0:
				return r, fmt.Errorf("%w: the prompt %s is not in the queue of %s any more", client.ErrRefused, next, r.Agent)
			case !open[i].IsQueued():
				return r, tooLate(next, string(open[i].State))
			case open[i].Priority != r.Priority:
				return r, fmt.Errorf("%w: the priority of %s is %s and that of %s is %s; first: gc queue edit %s --priority %s", client.ErrRefused,
					r.ID, priorityWord(r.Priority), next, priorityWord(open[i].Priority), r.ID, priorityWord(open[i].Priority))
			}
		}
		place, ok := prompt.PlaceBefore(open, r.ID, next)
		if !ok {
			return r, fmt.Errorf("%w: many moves have used up the positions between these two prompts; to number the queue again, run for each prompt, in the order that you want: gc queue move ID --last", client.ErrRefused)
		}
		r.Place = place
		return r.AddStep(e.opts.Now(), "moved by "+cmp.Or(req.By, "its sender")), nil
	})
	if err == nil {
		e.reportChange(ctx, r, event.PromptMoved, "a prompt that waits was moved", map[string]string{"by": req.By, "before": next})
	}
	return r, err
}

// firstOf returns the ID of the first queued prompt with the same priority as r, other than r; "" if there is none.
func firstOf(open []*prompt.Receipt, r *prompt.Receipt) string {
	for _, x := range prompt.Queue(open) {
		if x.IsQueued() && x.Priority == r.Priority && x.ID != r.ID {
			return x.ID
		}
	}
	return ""
}

// reportChange appends an event about a change that a person made to a queued prompt.
func (e *Engine) reportChange(ctx context.Context, r client.Receipt, kind event.Kind, text string, more map[string]string) {
	data := map[string]string{"receipt": r.ID, "priority": r.Priority}
	for key, value := range more {
		if value != "" {
			data[key] = value
		}
	}
	if by := more["by"]; by != "" {
		text += " by " + by
	}
	engine.Record(ctx, e.opts.Events, e.opts.Logger, client.Event{Kind: string(kind), Agent: r.Agent, Session: r.Session, Text: text, Data: data}, "receipt", r.ID)
}

// PromptText returns the whole text of a queued prompt. It returns client.ErrRefused if the prompt is being delivered or has ended.
func (e *Engine) PromptText(ctx context.Context, id string) (client.PromptText, error) {
	r, _, err := e.read(ctx, id)
	if err != nil {
		return client.PromptText{}, err
	}
	if !r.IsQueued() {
		return client.PromptText{}, tooLate(id, string(r.State))
	}
	return client.PromptText{ID: id, Text: runtime.FlattenText(textOf(r.Content))}, nil
}

// amend applies edit to a queued prompt, saves it and returns it. It returns client.ErrRefused if the prompt is not queued any
// more.
func (e *Engine) amend(ctx context.Context, id string, edit func(*sessionQueue, prompt.Receipt) (prompt.Receipt, error)) (client.Receipt, error) {
	r, b, err := e.read(ctx, id)
	if err != nil {
		return client.Receipt{}, err
	}
	if b == nil {
		return client.Receipt{}, tooLate(id, string(r.State))
	}
	r, err = e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.IsQueued() {
			return r, tooLate(id, string(r.State))
		}
		return edit(b, r)
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
	if state == string(prompt.Injected) {
		return fmt.Errorf("%w: the prompt %s is on its way to the agent; to stop its delivery: gc queue cancel %s", client.ErrRefused, id, id)
	}
	return fmt.Errorf("%w: the prompt %s is no longer waiting: it is %s", client.ErrRefused, id, state)
}
