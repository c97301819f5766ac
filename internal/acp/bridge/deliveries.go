package bridge

import (
	"context"
	"slices"
	"time"

	"gascity/runtime"
)

// maxDeliveries is the number of deliveries that are stored.
const maxDeliveries = 4096

// stage is the progress of a delivery.
type stage int

const (
	announced stage = iota // the text was not received yet
	queued
	withdrawn // nothing was sent, and nothing will be
	sent
)

// entry is one delivery. It is guarded by host.mu.
type entry struct {
	id      string
	text    string // empty after it was sent
	stage   stage
	sign    string // what proved that the agent has accepted the prompt
	detail  string
	refused runtime.RefusalReason // reason of the agent's refusal; empty if there is none
	settled chan struct{}         // closed when sign, refused or failed is set
	failed  bool                  // the agent ended before it accepted the prompt
}

// announce creates an entry for the delivery id. If once is true and the prompt was already sent, it returns the existing
// entry.
func (h *host) announce(id string, once bool) *entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.deliveries[id]; old != nil {
		if once && old.stage == sent && old.refused == "" {
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
	e := &entry{id: id, settled: make(chan struct{})}
	h.deliveries[id] = e
	return e
}

// withdraw removes an entry from the queue if it was not sent. h.mu must be held.
func (h *host) withdraw(e *entry) {
	if e.stage == sent {
		return
	}
	e.stage, e.text = withdrawn, ""
	h.queue = slices.DeleteFunc(h.queue, func(o *entry) bool { return o == e })
	h.broadcastLocked()
}

// enqueue adds an announced text to the queue and sends it if the agent is ready.
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

// next sends the first queued prompt if the agent can accept it. h.mu must be held.
func (h *host) next() {
	if !h.ready || h.ended || h.turn != nil || h.working || len(h.queue) == 0 {
		return
	}
	e := h.queue[0]
	h.queue = h.queue[1:]
	e.stage = sent
	h.begin(e)
}

// push queues one text and waits for its outcome. If ctx ends or t.Busy passes while the text is queued, it is removed from the
// queue.
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

// awaitTurn waits until the text was sent. done reports that it will not be sent; out is then its outcome.
func (h *host) awaitTurn(ctx context.Context, e *entry, busy time.Duration) (out runtime.Outcome, done bool) {
	limit := time.NewTimer(busy)
	defer limit.Stop()
	late := false
	for {
		h.mu.Lock()
		if e.stage == sent {
			h.mu.Unlock()
			return out, false
		}
		out, done = h.queuedOutcome(e, late || ctx.Err() != nil)
		changed := h.changed
		h.mu.Unlock()
		if done {
			return out, true
		}
		select {
		case <-changed:
		case <-limit.C:
			late = true
		case <-ctx.Done():
		}
	}
}

// queuedOutcome returns the outcome of a queued text that will not be sent. done is false if the text stays queued. h.mu must
// be held.
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

// outcome returns the known outcome of an entry that was sent. host.mu must be held.
func (e *entry) outcome() runtime.Outcome {
	switch {
	case e.refused != "":
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: e.refused, Detail: e.detail}
	case e.sign != "":
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: e.sign, Detail: e.detail}
	case e.detail != "":
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: e.detail}
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "sent to the agent, without a response yet"}
}

// resolveDelivery returns the outcome of a delivery. A text that was not sent yet is withdrawn.
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
