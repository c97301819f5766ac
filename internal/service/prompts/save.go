package prompts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

// uncertainReceipt is a receipt that may or may not be in the store. Its sender got an error.
type uncertainReceipt struct {
	queue   *sessionQueue
	receipt prompt.Receipt // without content
}

// maxUncertain is the largest number of uncertain receipts. While it is reached, new prompts are
// refused.
const maxUncertain = 1000

// saveNew saves a new receipt. known is true if the store already had a receipt with the same key,
// which is then returned. If the store fails, saveNew asks whether the receipt was saved after all;
// if there is no answer either, it marks the receipt as uncertain, see resolveUncertain. The caller
// must have called b.begin.
func (e *Engine) saveNew(ctx context.Context, b *sessionQueue, r prompt.Receipt) (prompt.Receipt, bool, error) {
	e.mu.Lock()
	many := len(e.uncertain) >= maxUncertain
	e.mu.Unlock()
	if many {
		return prompt.Receipt{}, false, fmt.Errorf("%w: cannot save the prompt: the store has not answered for %d other prompts", client.ErrUnavailable, maxUncertain)
	}
	sctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	kept, known, err := e.opts.Store.AddReceipt(sctx, r)
	if err == nil {
		e.setStoreError("", nil)
		return kept, known, nil
	}
	rctx, cancelRead := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancelRead()
	if kept, again := e.opts.Store.Receipt(rctx, r.ID); again == nil {
		return kept, false, nil
	}
	e.setStoreError("save a prompt", err)
	e.markUncertain(b, r)
	if r.Key != "" {
		return prompt.Receipt{}, false, fmt.Errorf("%w: cannot save the prompt; send it again with the key %q, it will not be sent twice: %w", client.ErrUnavailable, r.Key, err)
	}
	return prompt.Receipt{}, false, fmt.Errorf("%w: cannot save the prompt: %w", client.ErrUnavailable, err)
}

// markUncertain records a receipt whose write has failed although it may be in the store, and wakes
// resolveUncertain, which finds that out.
func (e *Engine) markUncertain(b *sessionQueue, r prompt.Receipt) {
	r.Content = nil // the store has it, or it is not needed
	e.mu.Lock()
	e.uncertain = append(e.uncertain, uncertainReceipt{b, r})
	e.mu.Unlock()
	e.uncertainAdded.Wake()
}

// resolveUncertain finds out, for each receipt that markUncertain has noted, whether it is in the
// store. It asks until the store answers. It returns when ctx ends.
func (e *Engine) resolveUncertain(ctx context.Context) {
	for delay := retry.New(engine.RetryFirst, engine.RetryLongest); ; {
		e.mu.Lock()
		receipts := slices.Clone(e.uncertain)
		e.mu.Unlock()
		if len(receipts) == 0 {
			select {
			case <-e.uncertainAdded:
				continue
			case <-ctx.Done():
				return
			}
		}
		if e.resolveUncertainOne(ctx, receipts[0]) {
			e.mu.Lock()
			e.uncertain = slices.Delete(e.uncertain, 0, 1)
			e.mu.Unlock()
			delay.Reset()
			continue
		}
		if !delay.Wait(ctx) {
			return
		}
	}
}

// reasonNotSaved is the reason of a withdrawn prompt without a key. Its sender may have sent
// another prompt instead, and gc cannot detect that.
const reasonNotSaved = "its sender got an error: it could not be saved"

// resolveUncertainOne finds out whether an uncertain receipt is in the store. It asks by a write,
// because writes take effect in order, so no earlier write can take effect afterwards. If the
// receipt has a key, it is added to its queue, because its sender can ask for it by that key.
// Without a key, it is cancelled. It returns false if the store did not answer.
func (e *Engine) resolveUncertainOne(ctx context.Context, g uncertainReceipt) bool {
	if g.queue.begin(ctx) != nil {
		return false
	}
	defer g.queue.end()
	if e.has(g.receipt.ID) { // its sender has sent it again
		return true
	}
	r := g.receipt
	if r.Key == "" {
		r, _ = r.Move(prompt.Cancelled, e.opts.Now(), reasonNotSaved) // a new receipt can be withdrawn
	}
	switch err := e.save(ctx, r, e.opts.Store.SaveReceipt); {
	case errors.Is(err, prompt.ErrUnknown), errors.Is(err, prompt.ErrEnded):
		e.setStoreError("", nil)
		return true
	case err != nil:
		return false
	case r.Final():
		e.emitState(ctx, r)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	kept, err := e.opts.Store.Receipt(ctx, r.ID)
	if err != nil {
		return errors.Is(err, prompt.ErrUnknown)
	}
	e.put(ctx, g.queue, kept)
	return true
}

// has reports whether the receipt with this ID is open.
func (e *Engine) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.index[id] != nil
}

// put adds a receipt that was read from the store to its queue, unless it is already there or
// final. The caller must have called b.begin before it read the receipt.
func (e *Engine) put(ctx context.Context, b *sessionQueue, kept prompt.Receipt) {
	if kept.Final() || e.has(kept.ID) {
		return
	}
	e.emit(ctx, kept, event.PromptAccepted, "a prompt was accepted")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.putLocked(b, kept)
}

// putStored reads a receipt from the store again and adds it to its queue.
func (e *Engine) putStored(ctx context.Context, r prompt.Receipt) error {
	e.mu.Lock()
	b := e.queueLocked(r.Session, r.Agent)
	e.mu.Unlock()
	if err := b.begin(ctx); err != nil {
		return err
	}
	defer b.end()
	kept, err := e.opts.Store.Receipt(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("%w: cannot read the receipt %s: %w", client.ErrUnavailable, r.ID, err)
	}
	e.put(ctx, b, kept)
	return nil
}

// samePrompt checks that a repeated key was sent with the same prompt. It returns client.ErrRefused
// if the known receipt with that key is for another session or has another content. A receipt
// without a digest, from an earlier version of gc, counts as the same.
func samePrompt(known, r prompt.Receipt) error {
	differs := ""
	switch {
	case known.Session != r.Session:
		differs = "for " + known.Agent
	case known.Digest != "" && known.Digest != r.Digest:
		differs = "with another text or other files"
	default:
		return nil
	}
	return fmt.Errorf("%w: the key %q was used before %s, see the receipt %s; another prompt needs another key", client.ErrRefused, r.Key, differs, known.ID)
}

// recent is how many ended receipts are searched for a key, and listed.
const recent = 200

// findByKey returns the receipt of a session with a key.
func (e *Engine) findByKey(ctx context.Context, b *sessionQueue, key string) (prompt.Receipt, bool) {
	if key == "" {
		return prompt.Receipt{}, false
	}
	for _, r := range e.open(b) {
		if r.Key == key {
			return *r, true
		}
	}
	ended, err := e.opts.Store.EndedReceipts(ctx, b.session, recent)
	i := slices.IndexFunc(ended, func(r prompt.Receipt) bool { return r.Key == key })
	if err != nil || i < 0 {
		return prompt.Receipt{}, false
	}
	return ended[i], true
}
