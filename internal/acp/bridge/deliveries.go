package bridge

import (
	"context"
	"slices"
	"time"

	"gascity/runtime"
)

// maxDeliveries is how many deliveries are remembered.
const maxDeliveries = 4096

// stage says how far the delivery of a prompt is.
type stage int

const (
	announced stage = iota // the text was not received yet
	queued
	withdrawn // nothing was sent, and nothing will be
	sent
)

// entry is the delivery of one prompt. It is used with host.mu locked.
type entry struct {
	text    string // empty after it was sent
	stage   stage
	result  runtime.Outcome // without a state until it is known
	settled chan struct{}   // closed when result is known
}

// announce returns a new entry for the delivery with the given ID. If once is true and a prompt with that ID was already sent, it
// returns the entry for that one, and the prompt is not sent again.
func (h *host) announce(id string, once bool) *entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.deliveries[id]; old != nil {
		if once && old.stage == sent && old.result.State != runtime.OutcomeRefused {
			return old
		}
		h.withdraw(old)
	} else {
		h.order = append(h.order, id)
		if len(h.order) > maxDeliveries {
			delete(h.deliveries, h.order[0])
			h.order = h.order[1:]
		}
	}
	e := &entry{settled: make(chan struct{})}
	h.deliveries[id] = e
	return e
}

// withdraw removes a prompt from the queue, unless it was sent. h.mu must be held.
func (h *host) withdraw(e *entry) {
	if e.stage == sent {
		return
	}
	e.stage, e.text = withdrawn, ""
	h.queue = slices.DeleteFunc(h.queue, func(o *entry) bool { return o == e })
	h.broadcastLocked()
}

// enqueue adds the text of an announced prompt to the queue, and sends it if the agent is ready.
func (h *host) enqueue(e *entry, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.stage != announced {
		return
	}
	e.stage, e.text = queued, text
	h.queue = append(h.queue, e)
	h.broadcastLocked()
	h.next()
}

// next sends the first prompt of the queue, unless the agent is not ready or works. h.mu must be held.
func (h *host) next() {
	if !h.ready || h.ended || h.turn != nil || h.working || len(h.queue) == 0 {
		return
	}
	e := h.queue[0]
	h.queue = h.queue[1:]
	e.stage = sent
	h.begin(e)
}

// push adds a prompt to the queue and waits for its outcome. If the prompt is still in the queue when ctx ends or t.Busy is over,
// push removes it.
func (h *host) push(ctx context.Context, e *entry, t text) runtime.Outcome {
	h.enqueue(e, t.Text)
	if out, done := h.awaitTurn(ctx, e, t.Busy); done {
		return out
	}
	confirm := time.NewTimer(t.Confirm)
	defer confirm.Stop()
	select {
	case <-e.settled:
	case <-confirm.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return e.outcome()
}

// awaitTurn waits until the prompt of an entry was sent to the agent. done is true if it will not be sent; out is then its
// outcome.
func (h *host) awaitTurn(ctx context.Context, e *entry, busy time.Duration) (out runtime.Outcome, done bool) {
	ctx, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	h.waitUntil(ctx, func() bool {
		if e.stage == sent {
			return true
		}
		out, done = h.queuedOutcome(e, ctx.Err() != nil)
		return done
	})
	return out, done
}

// queuedOutcome returns the outcome of a prompt in the queue that cannot be sent any more. done is false if it can still be sent.
// late means that it has waited for too long. h.mu must be held.
func (h *host) queuedOutcome(e *entry, late bool) (out runtime.Outcome, done bool) {
	refused := func(reason runtime.RefusalReason, detail string) (runtime.Outcome, bool) {
		h.withdraw(e)
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: detail}, true
	}
	switch {
	case e.stage == withdrawn:
		return refused(runtime.RefusedWithdrawn, "the prompt was withdrawn; nothing was sent")
	case h.ended:
		h.withdraw(e)
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the agent has exited"}, true
	case h.raised("") >= 0:
		return refused(runtime.RefusedDialog, "the agent waits for a permission; nothing was sent")
	case late && !h.ready:
		return refused(runtime.RefusedUnready, "the handshake with the agent is in progress; nothing was sent")
	case late:
		return refused(runtime.RefusedBusy, "the agent still works on the previous prompt; nothing was sent")
	}
	return out, false
}

// outcome returns what is known about a prompt that was sent. host.mu must be held.
func (e *entry) outcome() runtime.Outcome {
	if e.result.State != "" {
		return e.result
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "sent to the agent, without a response yet"}
}

// resolveDelivery returns the outcome of the delivery with the given ID. A prompt that is still in the queue is removed from it.
func (h *host) resolveDelivery(id string) runtime.Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.deliveries[id]
	if e != nil && e.stage == sent {
		return e.outcome()
	}
	if e != nil {
		h.withdraw(e)
	}
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: "nothing of the prompt was sent"}
}
