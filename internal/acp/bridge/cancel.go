package bridge

import (
	"context"
	"syscall"
	"time"

	"gascity/internal/acp"
)

// cancel cancels the running turn and returns when it has ended. If no turn runs, it returns nil. Prompts in the queue stay
// there.
func (h *host) cancel(ctx context.Context) error {
	h.mu.Lock()
	t, id := h.turn, h.conversation
	if t == nil {
		working := h.working
		h.mu.Unlock()
		if working {
			return h.cancelOwn(ctx, id)
		}
		return nil
	}
	t.cancelled = true
	for _, q := range h.asked {
		q.answer(acp.Cancelled())
	}
	h.asked = nil
	h.broadcastLocked()
	h.mu.Unlock()
	if !within(ctx, t.written, cancelTime) { // the agent ignores a cancel request before the prompt
		return errUnsettled
	}
	if err := h.conn.Notify(acp.MethodCancel, acp.CancelParams{SessionID: id}); err != nil {
		return err
	}
	if within(ctx, t.ended, cancelTime) {
		return nil
	}
	for range 2 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.child.signal(syscall.SIGINT)
		if within(ctx, t.ended, signalTime) {
			return nil
		}
	}
	return errUnsettled
}

// cancelOwn cancels work that the agent does without a prompt of gc. Only agents that speak the draft of version 2 report such
// work.
func (h *host) cancelOwn(ctx context.Context, id string) error {
	if err := h.conn.Notify(acp.MethodCancel, acp.CancelParams{SessionID: id}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cancelTime, errUnsettled)
	defer cancel()
	if !h.waitUntil(ctx, func() bool { return !h.working || h.turn != nil || h.ended }) {
		return context.Cause(ctx)
	}
	return nil
}

// within waits until done is closed. It returns false if limit is over or ctx ends first.
func within(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return false
}
