package bridge

import (
	"context"
	"slices"
	"time"

	"gascity/runtime"
)

// maxDeliveries is how many deliveries are remembered.
const maxDeliveries = 4096

// stage is how far a delivery has come.
type stage int

const (
	announced stage = iota // its text may still come
	queued
	withdrawn // not a byte of it was sent, and none will be
	sent
)

// entry is one delivery. host.mu guards it.
type entry struct {
	id      string
	text    string // until it is sent
	stage   stage
	sign    string // what proved that the agent took it
	detail  string
	refused runtime.RefusalReason // by the agent's own answer
	settled chan struct{}         // closed when sign, refused or failed is known
	failed  bool                  // no sign will come any more
}

// announce makes an entry, or returns the one that was sent already.
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

// withdraw removes an entry from the line that was not sent. h.mu is held.
func (h *host) withdraw(e *entry) {
	if e.stage == sent {
		return
	}
	e.stage, e.text = withdrawn, ""
	h.queue = slices.DeleteFunc(h.queue, func(o *entry) bool { return o == e })
	h.broadcastLocked()
}

// enqueue puts an announced text into the line, and sends it if it is its turn.
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

// next sends the first in line, if the agent can take it. h.mu is held.
func (h *host) next() {
	if !h.ready || h.ended || h.turn != nil || h.working || len(h.queue) == 0 {
		return
	}
	e := h.queue[0]
	h.queue = h.queue[1:]
	e.stage = sent
	h.begin(e)
}

// push sends one text to the agent and waits for its outcome. A caller that goes away,
// or a time that passes, while it is in line takes it out again.
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

// awaitTurn returns when the text is sent; done is true if it will not be.
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
		out, done = h.verdict(e, late || ctx.Err() != nil)
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

// verdict is why a text in line is not sent; done is false if it goes on waiting.
// h.mu is held.
func (h *host) verdict(e *entry, late bool) (out runtime.Outcome, done bool) {
	refused := func(reason runtime.RefusalReason, detail string) (runtime.Outcome, bool) {
		h.withdraw(e)
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: detail}, true
	}
	switch {
	case e.stage == withdrawn:
		return refused(runtime.RefusedWithdrawn, "it was taken out of the line; not a byte was sent")
	case h.ended:
		h.withdraw(e)
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the agent has exited"}, true
	case h.raised("") >= 0:
		return refused(runtime.RefusedDialog, "the agent waits for a permission; not a byte was sent")
	case late && !h.ready:
		return refused(runtime.RefusedUnready, "the handshake with the agent is under way; not a byte was sent")
	case late:
		return refused(runtime.RefusedBusy, "the agent works on the prompt before; not a byte was sent")
	}
	return out, false
}

// outcome returns what is known of an entry that was sent. host.mu is held.
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

// resolveDelivery returns the outcome of a delivery, and makes sure that a text which was not
// sent never will be.
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
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: "not a byte of it was sent"}
}
