package acphost

import (
	"context"
	"syscall"
	"time"

	"gascity/internal/acp"
)

// cancel cuts the present turn off and returns when it has ended. Without one there is
// nothing to do. Prompts in line stay there.
func (h *host) cancel(ctx context.Context) error {
	h.mu.Lock()
	t, id := h.turn, h.conversation
	if t == nil {
		h.mu.Unlock()
		return nil
	}
	t.cancelled = true
	for _, q := range h.asked {
		q.answer(acp.Cancelled())
	}
	h.asked = nil
	h.tell()
	h.mu.Unlock()
	if !within(ctx, t.written, cancelTime) { // before the prompt it would mean nothing
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

// within reports whether done is closed in time.
func within(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
