package prompts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// sessionQueue holds the open receipts of one session.
type sessionQueue struct {
	session string
	turn    chan struct{} // holds one token: the right to change receipts, kept across a save
	wakeup  chan struct{} // holds a token if the owner is to look

	// Guarded by Engine.mu.
	agent      string
	receipts   map[string]*prompt.Receipt // as they are saved; replaced, never changed
	bytes      int                        // of their texts
	why        string                     // why the first one waits
	holdReason string                     // why none is handed over for now, see Options.PromptHold
	owned      bool
	accepted   acceptance
	input      inputState
	// watchedFrom is since when this controller can ask about deliveries of earlier ones.
	watchedFrom time.Time
	recheck     bool // the input box may have changed since the last attempt
	// seenIdle is the instance of an earlier controller that was seen at rest since, or was
	// given a prompt.
	seenIdle string
	worked   map[string]bool          // injected receipts that the agent says it has worked on; what came of their attempt is not saved yet
	aborted  map[string]bool          // injected receipts whose turn was aborted; what came of their attempt is not saved yet
	reported map[string]time.Time     // by receipt, handed over: when a hook of the agent said that the prompt began a turn
	names    map[string]string        // of their prompts, by which hooks call them
	files    map[string]textFile      // by receipt: that the agent was given and that are not removed yet
	changed  map[string]chan struct{} // by the ID of a receipt that is waited for; closed by its next change

	queued atomic.Int64 // of the receipts; those on their way
	newest atomic.Int64 // when the newest of them was accepted, in Unix nanoseconds; of an empty queue it is old
}

// acceptance is the last prompt that an instance of the session took.
type acceptance struct {
	instance string
	at       time.Time
}

// lastAccepted returns when the instance last took a prompt, zero if that is not known.
func (e *Engine) lastAccepted(b *sessionQueue, instance string) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if instance == "" || b.accepted.instance != instance {
		return time.Time{}
	}
	return b.accepted.at
}

// errEnded reports that a receipt is not open any more.
var errEnded = errors.New("the receipt has ended")

func (e *Engine) queueLocked(session, agent string) *sessionQueue {
	b := e.queues[session]
	if b == nil {
		b = &sessionQueue{
			session: session, turn: make(chan struct{}, 1), wakeup: make(chan struct{}, 1),
			receipts: map[string]*prompt.Receipt{}, changed: map[string]chan struct{}{}, worked: map[string]bool{},
			aborted: map[string]bool{}, reported: map[string]time.Time{}, names: map[string]string{}, files: map[string]textFile{},
		}
		e.queues[session] = b
		e.bySession.Store(session, b)
	}
	b.agent = agent
	return b
}

// wakeOwner makes the owner look.
func (b *sessionQueue) wakeOwner() {
	select {
	case b.wakeup <- struct{}{}:
	default: // it is going to
	}
}

func (b *sessionQueue) listLocked() []*prompt.Receipt {
	return slices.AppendSeq(make([]*prompt.Receipt, 0, len(b.receipts)), maps.Values(b.receipts))
}

// putLocked keeps a saved receipt, or drops it if it is final.
func (e *Engine) putLocked(b *sessionQueue, r prompt.Receipt) {
	worked, aborted, name := b.worked[r.ID], b.aborted[r.ID], b.names[r.ID]
	at, heard := b.reported[r.ID]
	e.dropLocked(b, r.ID)
	if worked && r.State == prompt.Injected {
		b.worked[r.ID] = true
	}
	if aborted && r.State == prompt.Injected {
		b.aborted[r.ID] = true
	}
	if handedOver := r.State == prompt.Injected || r.State == prompt.Submitted && !r.Final(); handedOver {
		b.names[r.ID] = name
		if heard {
			b.reported[r.ID] = at
		}
	}
	if r.State == prompt.Submitted {
		r.Content = nil // it is not sent again
	}
	if !r.Final() {
		b.receipts[r.ID] = &r
		b.bytes += r.Bytes
		b.queued.Add(onItsWay(&r))
		b.newest.Store(max(b.newest.Load(), r.CreatedAt.UnixNano()))
		e.index[r.ID] = b
	}
	b.trackFileLocked(&r)
	e.needOwnerLocked(b)
	b.wakeOwner()
}

// dropLocked forgets a receipt, and notifies those who wait for its change.
func (e *Engine) dropLocked(b *sessionQueue, id string) {
	if r := b.receipts[id]; r != nil {
		b.bytes -= r.Bytes
		b.queued.Add(-onItsWay(r))
	}
	delete(b.receipts, id)
	delete(b.worked, id)
	delete(b.aborted, id)
	delete(b.reported, id)
	delete(b.names, id)
	delete(e.index, id)
	if waited, ok := b.changed[id]; ok {
		close(waited)
		delete(b.changed, id)
	}
}

// onItsWay counts a receipt that is listed in the queue.
func onItsWay(r *prompt.Receipt) int64 {
	if r.IsQueued() || r.State == prompt.Injected {
		return 1
	}
	return 0
}

// changeLocked returns what the next change of an open receipt closes.
func (b *sessionQueue) changeLocked(id string) <-chan struct{} {
	waited, ok := b.changed[id]
	if !ok {
		waited = make(chan struct{})
		b.changed[id] = waited
	}
	return waited
}

func (e *Engine) wakeLoop() {
	select {
	case e.wakeup <- struct{}{}:
	default: // Run is going to look
	}
}

// unowned returns the boxes that need an owner; the caller makes one for each.
func (e *Engine) unowned() []*sessionQueue {
	e.mu.Lock()
	defer e.mu.Unlock()
	boxes := e.ownerless
	e.ownerless = nil
	return boxes
}

// release ends the ownership of an empty box; it is false if the box is not.
func (e *Engine) release(b *sessionQueue) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(b.receipts)+len(b.files) > 0 {
		return false
	}
	b.owned, b.why, b.holdReason = false, "", ""
	e.wakeLoop() // it may be time to forget
	return true
}

// open returns the open receipts of a box.
func (e *Engine) open(b *sessionQueue) []*prompt.Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return b.listLocked()
}

// begin takes the right to change receipts of the box; the caller calls end.
func (b *sessionQueue) begin(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the prompts of %s are being saved", client.ErrTimeout, b.session)
	}
}

func (b *sessionQueue) end() { <-b.turn }

// change saves what edit makes of an open receipt, and then takes it over into
// memory. A receipt that is not open is errEnded. If edit or the store fails,
// nothing has changed.
func (e *Engine) change(ctx context.Context, b *sessionQueue, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) (prompt.Receipt, error) {
	if err := b.begin(ctx); err != nil {
		return prompt.Receipt{}, err
	}
	defer b.end()
	e.mu.Lock()
	open := b.receipts[id]
	e.mu.Unlock()
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
		saved.Content = nil // the store has it
	}
	if err := e.save(ctx, saved); err != nil {
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
		e.emitState(after)
		if e.opts.Probed != nil && (after.State == prompt.Submitted || after.State == prompt.Unconfirmed) {
			e.opts.Probed(after.Session)
		}
	}
	return after, nil
}

// save saves a receipt and notes whether the store works.
func (e *Engine) save(ctx context.Context, r prompt.Receipt) error {
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	return e.trackSave(r.ID, e.opts.Store.SaveReceipt(ctx, r))
}

// trackSave records by the result of a save whether the store works.
func (e *Engine) trackSave(id string, err error) error {
	switch {
	case err == nil:
		e.degrade("", nil)
	case errors.Is(err, prompt.ErrEnded), errors.Is(err, prompt.ErrUnknown):
		e.opts.Logger.Error("a receipt is gone from the store", "receipt", id, "error", err)
	default:
		e.degrade("save the receipt of a prompt", err)
	}
	return err
}
