package prompts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
)

// uncertainReceipt is an uncertain receipt: it is unknown whether the store keeps it, and
// its sender got the error that it does not.
type uncertainReceipt struct {
	queue   *sessionQueue
	receipt prompt.Receipt // without content
}

// maxUncertain is how many there may be before nothing new is tried.
const maxUncertain = 1000

// saveNew saves a new receipt. If the store fails after it may have kept it, keep
// asks the store; without an answer the receipt is uncertain, see resolveUncertain.
// The caller has the turn of b.
func (e *Engine) saveNew(ctx context.Context, b *sessionQueue, r prompt.Receipt) (prompt.Receipt, bool, error) {
	e.mu.Lock()
	many := len(e.uncertain) >= maxUncertain
	e.mu.Unlock()
	if many {
		return prompt.Receipt{}, false, fmt.Errorf("%w: cannot keep the prompt: the store has not answered for %d others whether it keeps them", client.ErrUnavailable, maxUncertain)
	}
	sctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	kept, known, err := e.opts.Store.AddReceipt(sctx, r)
	if err == nil {
		e.degrade("", nil)
		return kept, known, nil
	}
	rctx, cancelRead := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancelRead()
	if kept, again := e.opts.Store.Receipt(rctx, r.ID); again == nil {
		return kept, false, nil
	}
	e.degrade("keep a prompt", err)
	e.markUncertain(b, r)
	if r.Key != "" {
		return prompt.Receipt{}, false, fmt.Errorf("%w: cannot keep the prompt; asked again with the key %q it is not sent twice: %w", client.ErrUnavailable, r.Key, err)
	}
	return prompt.Receipt{}, false, fmt.Errorf("%w: cannot keep the prompt: %w", client.ErrUnavailable, err)
}

func (e *Engine) markUncertain(b *sessionQueue, r prompt.Receipt) {
	r.Content = nil // the store has it, or it is not needed
	e.mu.Lock()
	e.uncertain = append(e.uncertain, uncertainReceipt{b, r})
	e.mu.Unlock()
	select {
	case e.uncertainAdded <- struct{}{}:
	default: // it is going to look
	}
}

// resolveUncertain asks for each uncertain receipt until the store answers.
func (e *Engine) resolveUncertain(ctx context.Context) {
	for wait := retryFirst; ; {
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
			wait = retryFirst
			continue
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, retryMax)
	}
}

// reasonNotSaved is why a prompt without a key is withdrawn: its sender may have sent
// another one instead, and that cannot be detected.
const reasonNotSaved = "its sender got an error: it could not be kept"

// resolveUncertainOne asks the store whether it keeps an uncertain receipt: by a change, because
// changes take effect in their order, so that no write comes after the answer. One
// with a key is taken in, since its sender can ask for it by that; another one is
// withdrawn. It is false if the store did not answer.
func (e *Engine) resolveUncertainOne(ctx context.Context, g uncertainReceipt) bool {
	if g.queue.begin(ctx) != nil {
		return false
	}
	defer g.queue.end()
	if e.has(g.receipt.ID) { // its sender has asked again
		return true
	}
	r := g.receipt
	if r.Key == "" {
		r, _ = r.Move(prompt.Cancelled, e.opts.Now(), reasonNotSaved) // a new receipt can be withdrawn
	}
	switch err := e.save(ctx, r); {
	case errors.Is(err, prompt.ErrUnknown), errors.Is(err, prompt.ErrEnded):
		e.degrade("", nil)
		return true
	case err != nil:
		return false
	case r.Final():
		e.emitState(r)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	kept, err := e.opts.Store.Receipt(ctx, r.ID)
	if err != nil {
		return errors.Is(err, prompt.ErrUnknown)
	}
	e.put(g.queue, kept)
	return true
}

func (e *Engine) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.index[id] != nil
}

// put takes a receipt that the store keeps into its box, unless it is there or has
// ended. The caller has the turn of b, and read the receipt in it.
func (e *Engine) put(b *sessionQueue, kept prompt.Receipt) {
	if kept.Final() || e.has(kept.ID) {
		return
	}
	e.emit(kept, event.PromptAccepted, "a prompt was accepted", nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.putLocked(b, kept)
}

// putStored is put for a receipt that was read at another time.
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
	e.put(b, kept)
	return nil
}

// samePrompt refuses a key that was used for another prompt. An account from a
// time when that was not noted is taken for the same.
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

// recent is how many ended receipts of a session are looked at for a key, and
// listed.
const recent = 200

// findByKey finds the receipt of a key.
func (e *Engine) findByKey(ctx context.Context, b *sessionQueue, key string) (prompt.Receipt, bool) {
	if key == "" {
		return prompt.Receipt{}, false
	}
	for _, r := range e.open(b) {
		if r.Key == key {
			return *r, true
		}
	}
	var receipts []prompt.Receipt
	if ended, err := e.opts.Store.EndedReceipts(ctx, b.session, recent); err == nil {
		receipts = ended
	}
	i := slices.IndexFunc(receipts, func(r prompt.Receipt) bool { return r.Key == key })
	if i < 0 {
		return prompt.Receipt{}, false
	}
	return receipts[i], true
}
