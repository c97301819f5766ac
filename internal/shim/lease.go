package shim

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gascity/internal/terminal/inject"
)

// A lease is the right to deliver prompts. One client has it at a time, while its connection is open. The lease ends when the
// client has disconnected and all its input is written. Later requests with its number are refused, so no input of a client
// that crashed can arrive late.
type lease struct {
	number uint64
	ended  bool           // further requests are refused; guarded by the host's mu
	writes sync.WaitGroup // writes in progress
	hold   *hold          // delays what people type; guarded by the host's mu
	done   chan struct{}
}

// acquireLease waits until no lease is active and grants one.
func (h *host) acquireLease(ctx context.Context) (*lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.lease != nil {
		over := h.lease.done
		h.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		case <-h.ctx.Done():
		}
		h.mu.Lock()
		if ctx.Err() != nil || h.ctx.Err() != nil {
			return nil, ErrExited
		}
	}
	h.leaseCount++
	h.lease = &lease{number: h.leaseCount, done: make(chan struct{})}
	return h.lease, nil
}

// endLease refuses further requests of the lease, waits for its writes, and releases its hold.
func (h *host) endLease(l *lease) {
	h.mu.Lock()
	l.ended = true
	h.mu.Unlock()
	l.writes.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease = nil // before the hold ends: the next client then sees the interrupted delivery
	h.releaseHoldLocked(l.hold)
	close(l.done)
}

// recordInputLocked records a piece of input of a delivery immediately before it is written. seen is the number of the frame
// that it is meant for; zero means any. recordInputLocked returns [ErrChanged] if the terminal has changed since that frame or
// has unread output.
func (h *host) recordInputLocked(in inject.Input, keys []byte, seen uint64) error {
	if seen != 0 && (seen != h.seq || h.run.streams.HasOutput()) {
		return ErrChanged
	}
	err := h.deliveries.Send(in, keys)
	if errors.Is(err, inject.ErrNoDelivery) || errors.Is(err, inject.ErrInput) {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	return err
}

// extendLocked restarts the time limit of the hold if it is active.
func (h *host) extendLocked(held *hold) {
	if held != nil && h.inputHold == held && held.timer != nil {
		held.timer.Reset(HoldLimit)
	}
}
