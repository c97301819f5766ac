package prompts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/service/engine"
)

// sessionQueue contains the open receipts of one session.
type sessionQueue struct {
	session string
	turn    chan struct{} // a lock of capacity 1 for changes of receipts, see begin; held during a save
	wakeup  engine.Signal // the owner must run

	// Guarded by Engine.mu.
	agent      string
	receipts   map[string]*openReceipt // by ID
	bytes      int                     // total size of their texts
	why        string                  // why the first prompt waits
	holdReason string                  // why no prompt is delivered now, see Options.PromptHold
	accepted   acceptance
	input      inputState
	// watchedFrom is since when this controller can observe the session.
	watchedFrom time.Time
	recheck     bool // the input box may have changed since the last attempt
	// seenIdle is an instance of an earlier controller that this controller has seen idle or has
	// given a prompt.
	seenIdle string
	files    map[string]textFile // files that the agent was given and that are not removed yet, by receipt

	queued atomic.Int64 // number of queued and injected receipts
	newest atomic.Int64 // when the newest of them was accepted, in Unix nanoseconds; out of date if there are none
}

// openReceipt is an open receipt, with what is known about it and not saved.
type openReceipt struct {
	*prompt.Receipt // as saved; it is replaced and never changed in place

	worked   bool          // injected: the agent reported that it has worked on the prompt
	aborted  bool          // injected: the turn of the prompt was aborted
	reported time.Time     // when a hook reported that the prompt started a turn; zero: it has not
	hash     string        // of the delivered prompt, as hooks report it
	changed  chan struct{} // closed by the next change; nil: no call waits for it
}

// acceptance is the last prompt that an instance of the session accepted.
type acceptance struct {
	instance string
	at       time.Time
}

// errEnded means that a receipt is not open any more, or that a change does not apply.
var errEnded = errors.New("the receipt has ended")

// queueLocked returns the queue of a session, and creates it if there is none. The caller holds e.mu.
func (e *Engine) queueLocked(session, agent string) *sessionQueue {
	b := e.queueOf(session)
	if b == nil {
		b = &sessionQueue{
			session: session, turn: make(chan struct{}, 1), wakeup: engine.NewSignal(),
			receipts: map[string]*openReceipt{}, files: map[string]textFile{},
		}
		e.bySession.Store(session, b)
	}
	b.agent = agent
	return b
}

// listLocked returns the open receipts in no particular order.
func (b *sessionQueue) listLocked() []*prompt.Receipt {
	out := make([]*prompt.Receipt, 0, len(b.receipts))
	for _, r := range b.receipts {
		out = append(out, r.Receipt)
	}
	return out
}

// putLocked puts the new version of a receipt into the queue after it was saved, or removes the receipt from the queue if it is
// final. The caller holds e.mu.
func (e *Engine) putLocked(b *sessionQueue, r prompt.Receipt) {
	next := &openReceipt{Receipt: &r}
	if before := b.receipts[r.ID]; before != nil && (r.State == prompt.Injected || r.State == prompt.Submitted) {
		next.hash, next.reported = before.hash, before.reported
		next.worked, next.aborted = before.worked && r.State == prompt.Injected, before.aborted && r.State == prompt.Injected
	}
	e.dropLocked(b, r.ID)
	if r.State == prompt.Submitted {
		r.Content = nil // it is not sent again
	}
	if !r.Final() {
		b.receipts[r.ID] = next
		b.bytes += r.Bytes
		b.queued.Add(queuedCount(&r))
		b.newest.Store(max(b.newest.Load(), r.CreatedAt.UnixNano()))
		e.index[r.ID] = b
	}
	b.trackFileLocked(&r)
	e.needOwnerLocked(b)
	b.wakeup.Wake()
}

// dropLocked removes a receipt from the queue and wakes the calls that wait for its change. The caller holds e.mu.
func (e *Engine) dropLocked(b *sessionQueue, id string) {
	r := b.receipts[id]
	if r == nil {
		return
	}
	b.bytes -= r.Bytes
	b.queued.Add(-queuedCount(r.Receipt))
	delete(b.receipts, id)
	delete(e.index, id)
	if r.changed != nil {
		close(r.changed)
	}
}

// stateOf returns a copy of an open receipt with what is known about it; if it is not open, one without a receipt.
func (e *Engine) stateOf(b *sessionQueue, id string) (r openReceipt) {
	e.update(b, id, func(open *openReceipt) { r = *open })
	return r
}

// update changes what is known about an open receipt. It does nothing if it is not open.
func (e *Engine) update(b *sessionQueue, id string, change func(*openReceipt)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := b.receipts[id]; r != nil {
		change(r)
	}
}

// queuedCount returns 1 for a queued or injected receipt, and 0 for any other.
func queuedCount(r *prompt.Receipt) int64 {
	if r.IsQueued() || r.State == prompt.Injected {
		return 1
	}
	return 0
}

// release reports whether the queue is empty, so that its owner may stop. If so, it clears the reason why its prompts waited. The
// next receipt starts another owner.
func (e *Engine) release(b *sessionQueue) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(b.receipts)+len(b.files) > 0 {
		return false
	}
	b.why, b.holdReason = "", ""
	return true
}

// open returns the open receipts of a queue.
func (e *Engine) open(b *sessionQueue) []*prompt.Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return b.listLocked()
}

// begin locks the queue for a change of its receipts, and waits until ctx ends. The caller must call end to unlock it.
func (b *sessionQueue) begin(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the prompts of %s are being saved", client.ErrTimeout, b.session)
	}
}

// end unlocks the queue after [sessionQueue.begin].
func (b *sessionQueue) end() { <-b.turn }

// change applies edit to an open receipt, saves the result, and then replaces the receipt in
// memory. It returns errEnded if the receipt is not open. If edit or the store fails, nothing
// changes.
func (e *Engine) change(ctx context.Context, b *sessionQueue, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) (prompt.Receipt, error) {
	if err := b.begin(ctx); err != nil {
		return prompt.Receipt{}, err
	}
	defer b.end()
	open := e.stateOf(b, id).Receipt
	if open == nil {
		return prompt.Receipt{}, fmt.Errorf("%s: %w", id, errEnded)
	}
	before := *open
	after, err := edit(before)
	if err != nil {
		return before, err
	}
	saved := after
	if slices.Equal(before.Content, after.Content) {
		saved.Content = nil // unchanged: the store has it
	}
	if err := e.save(ctx, saved, e.opts.Store.SaveReceipt); err != nil {
		if errors.Is(err, prompt.ErrEnded) || errors.Is(err, prompt.ErrUnknown) {
			e.mu.Lock()
			e.dropLocked(b, id)
			e.mu.Unlock()
			return prompt.Receipt{}, fmt.Errorf("%s: %w: %w", id, errEnded, err)
		}
		return before, err
	}
	e.mu.Lock()
	e.putLocked(b, after)
	e.markPromptedLocked(after)
	e.mu.Unlock()
	if after.State != before.State {
		e.emitState(ctx, after)
		if after.State == prompt.Submitted || after.State == prompt.Unconfirmed {
			e.opts.Probed(after.Session)
		}
	}
	return after, nil
}

// save writes a receipt to the store by a method of it, and records whether the store works.
func (e *Engine) save(ctx context.Context, r prompt.Receipt, write func(context.Context, prompt.Receipt) error) error {
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	err := write(ctx, r)
	switch {
	case err == nil:
		e.setStoreError("", nil)
	case errors.Is(err, prompt.ErrEnded), errors.Is(err, prompt.ErrUnknown):
		e.opts.Logger.Error("a receipt is missing or final in the store", "receipt", r.ID, "error", err)
	default:
		e.setStoreError("save the receipt of a prompt", err)
	}
	return err
}
