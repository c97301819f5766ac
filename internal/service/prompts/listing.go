package prompts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
)

// Queue returns the queued and injected prompts by session, in the order of delivery. If target is
// not empty, it returns only those of that agent or session. With client.WithEnded, the recent
// other prompts follow, newest first.
func (e *Engine) Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	name := ""
	if target != "" {
		v, err := e.opts.City.Snapshot(target)
		if err != nil {
			return nil, err
		}
		name = v.Session
	}
	out, taken := e.openReceipts(name)
	if which != client.WithEnded {
		return out, nil
	}
	ended, err := e.opts.Store.EndedReceipts(ctx, name, recent)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read ended receipts: %w", client.ErrUnavailable, err)
	}
	ended = append(taken, ended...)
	slices.SortStableFunc(ended, func(a, b prompt.Receipt) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	for _, r := range ended {
		listed := toClient(&r)
		listed.Steps = nil
		out = append(out, listed)
	}
	return out, nil
}

// openReceipts returns the prompts of a session that wait or are being delivered, and separately
// those that the agent has accepted (taken). An empty name means all sessions.
func (e *Engine) openReceipts(name string) (queue []client.Receipt, taken []prompt.Receipt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var queues []*sessionQueue
	e.bySession.Range(func(_, b any) bool {
		if queue := b.(*sessionQueue); name == "" || queue.session == name {
			queues = append(queues, queue)
		}
		return true
	})
	slices.SortFunc(queues, func(a, b *sessionQueue) int { return strings.Compare(a.session, b.session) })
	queue = []client.Receipt{}
	for _, b := range queues {
		place := 0
		for _, r := range prompt.Queue(b.listLocked()) {
			listed := toClient(r)
			listed.Steps = nil
			listed.Deadline = e.deadlineLocked(b, r)
			if r.IsQueued() {
				place++
				listed.Position = place
				listed.Reason = e.waitReasonLocked(b, listed)
			}
			queue = append(queue, listed)
		}
		for _, r := range b.receipts {
			if r.State == prompt.Submitted {
				taken = append(taken, *r.Receipt)
			}
		}
	}
	return queue, taken
}

// BeginsBy returns until when the agent of a session may be about to start work on a delivered
// prompt although it looks idle. Zero means that there is no such prompt.
func (e *Engine) BeginsBy(session string) (latest time.Time) {
	b := e.queueOf(session)
	if b == nil {
		return time.Time{}
	}
	now := e.opts.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range b.receipts {
		if at := r.TurnStartDeadline(now); at.After(latest) {
			latest = at
		}
	}
	return latest
}

// MayBegin reports whether the agent of a session may be about to start work on a delivered prompt
// although it looks idle.
func (e *Engine) MayBegin(session string) bool { return e.BeginsBy(session).After(e.opts.Now()) }

// Receipt returns a receipt. If wait is "submitted" or "consumed", it returns when the receipt has
// that state or has ended. If ctx ends first, it returns the present receipt with
// client.ErrTimeout. At most 4,096 calls may wait; another call gets client.ErrUnavailable.
func (e *Engine) Receipt(ctx context.Context, id, wait string) (client.Receipt, error) {
	if err := client.CheckReceiptWait(wait); err != nil {
		return client.Receipt{}, err
	}
	if err := e.ready(ctx); err != nil {
		return client.Receipt{}, err
	}
	if err := e.beginCall(wait); err != nil {
		return client.Receipt{}, err
	}
	defer e.endCall(wait)
	return e.await(ctx, id, wait)
}

// maxCalls is how many calls may wait for receipts at the same time.
const maxCalls = 4096

// beginCall counts a call that waits for a receipt. It returns client.ErrUnavailable if [maxCalls]
// calls wait already. After success the caller must call endCall. A call with an empty wait is not
// counted.
func (e *Engine) beginCall(wait string) error {
	if wait == "" {
		return nil
	}
	if e.calls.Add(1) > maxCalls {
		e.calls.Add(-1)
		return fmt.Errorf("%w: %d calls wait for receipts already; ask again without waiting", client.ErrUnavailable, maxCalls)
	}
	return nil
}

// endCall subtracts one from the number of calls that wait for a receipt, if the call with this
// wait is one of them.
func (e *Engine) endCall(wait string) {
	if wait != "" {
		e.calls.Add(-1)
	}
}

// await returns a receipt when it has reached the state wait or has ended, see [Engine.Receipt],
// which has counted this call.
func (e *Engine) await(ctx context.Context, id, wait string) (client.Receipt, error) {
	for {
		r, b, err := e.read(ctx, id)
		if err != nil {
			return client.Receipt{}, err
		}
		if wait == "" || (client.Receipt{State: string(r.State), Closed: r.Closed}).Reached(wait) {
			return e.answer(b, r), nil
		}
		changed, same := e.changeOf(b, r)
		if !same {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e.answer(b, r), fmt.Errorf("%w: the prompt %s is %s", client.ErrTimeout, id, r.State)
		case <-e.life.Ended():
			return e.answer(b, r), fmt.Errorf("%w: the controller is stopping; the prompt %s is %s and saved", client.ErrUnavailable, id, r.State)
		}
	}
}

// changeOf returns a channel that is closed by the next change of an open receipt. same is false if
// the receipt has changed since r was read.
func (e *Engine) changeOf(b *sessionQueue, r prompt.Receipt) (changed <-chan struct{}, same bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := b.receipts[r.ID]
	if now == nil || now.State != r.State {
		return nil, false
	}
	if now.changed == nil {
		now.changed = make(chan struct{})
	}
	return now.changed, true
}

// read waits until the engine has read the receipts, and returns a receipt and the queue that contains it; the queue is nil if the
// receipt is final. An open receipt that is only in the store is added to its queue.
func (e *Engine) read(ctx context.Context, id string) (prompt.Receipt, *sessionQueue, error) {
	if err := e.ready(ctx); err != nil {
		return prompt.Receipt{}, nil, err
	}
	for {
		e.mu.Lock()
		if b := e.index[id]; b != nil {
			defer e.mu.Unlock()
			return *b.receipts[id].Receipt, b, nil
		}
		e.mu.Unlock()
		kept, err := e.opts.Store.Receipt(ctx, id)
		switch {
		case errors.Is(err, prompt.ErrUnknown):
			return kept, nil, fmt.Errorf("%w: no prompt has the receipt %q; list the receipts with: gc queue list --all", client.ErrNotFound, id)
		case err != nil:
			return kept, nil, fmt.Errorf("%w: cannot read the receipt %s: %w", client.ErrUnavailable, id, err)
		case kept.Final():
			return kept, nil, nil
		}
		if err := e.putStored(ctx, kept); err != nil {
			return kept, nil, err
		}
	}
}
