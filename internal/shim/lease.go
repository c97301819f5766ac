package shim

import (
	"context"

	"gascity/internal/terminal/inject"
)

// acquireLease waits until no lease is active and grants one for the instance that runs at that time. It returns [ErrExited] if
// ctx ends before that, or if the shim must exit.
func (h *host) acquireLease(ctx context.Context) (*leasedTerminal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.lease != nil {
		if h.waitLocked(ctx, h.lease.done) != nil {
			return nil, ErrExited
		}
	}
	h.leaseCount++
	h.lease = &leasedTerminal{host: h, run: h.run, number: h.leaseCount, done: make(chan struct{})}
	return h.lease, nil
}

// close refuses further requests of the lease, waits for those in progress, and releases its hold.
func (t *leasedTerminal) close() {
	h := t.host
	h.mu.Lock()
	t.ended = true
	h.mu.Unlock()
	t.requests.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease = nil // before the hold ends: the next client then sees the interrupted delivery
	h.releaseHoldLocked(t.hold)
	close(t.done)
}

// recordInputLocked records a piece of input of a delivery immediately before it is written. seen is the number of the frame
// that it is meant for; zero means any. recordInputLocked returns [inject.ErrChanged] if the terminal has changed since that
// frame or has unread output.
func (h *host) recordInputLocked(in inject.Input, keys []byte, seen uint64) error {
	if seen != 0 && (seen != h.seq || h.run.streams.HasOutput()) {
		return inject.ErrChanged
	}
	return h.deliveries.Send(in, keys)
}

// extendLocked restarts the time limit of the hold if it is active.
func (h *host) extendLocked(held *hold) {
	if held != nil && h.inputHold == held && held.timer != nil {
		held.timer.Reset(HoldLimit)
	}
}

// touchLocked records that p, which belongs to no delivery, is about to be sent. It returns the keys that must be sent before p
// to delete the text of a delivery.
func (h *host) touchLocked(p []byte) []byte {
	undo := h.deliveries.Touch()
	h.deliveries.Typed(p)
	return undo
}
