package shim

import (
	"context"
	"net/http"
	"time"
)

// HoldLimit is the longest time for which input that people type is delayed.
const HoldLimit = 2 * time.Second

// A hold delays what people type, in order, from the first byte of a prompt to its Enter. It ends when the connection that
// requested it closes, so a sender that crashes does not block typing.
type hold struct {
	done  chan struct{}
	timer *time.Timer // ends the hold; nil if only its holder ends it
}

// handleHold answers when the hold is active. It ends the hold when the request ends, at the latest after HoldLimit.
func (s *server) handleHold(w http.ResponseWriter, r *http.Request) {
	h := s.host
	held, err := h.acquireHold(r.Context())
	if err != nil {
		fail(w, http.StatusGone, codeExited, err.Error())
		return
	}
	defer h.releaseHold(held)
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	limit := time.NewTimer(HoldLimit)
	defer limit.Stop()
	select {
	case <-limit.C:
	case <-r.Context().Done():
	case <-h.ctx.Done():
	}
}

// acquireHold waits until no other hold is active and no delayed input of people is waiting, then starts a hold.
func (h *host) acquireHold(ctx context.Context) (*hold, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.inputHold != nil || h.waiting > 0 {
		changed := h.changed
		if h.inputHold != nil {
			changed = h.inputHold.done
		}
		if h.waitLocked(ctx, changed) != nil {
			return nil, ErrExited
		}
	}
	h.inputHold = &hold{done: make(chan struct{})}
	return h.inputHold, nil
}

func (h *host) releaseHold(held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releaseHoldLocked(held)
}

// releaseHoldLocked ends held if it is the active hold; else it does nothing.
func (h *host) releaseHoldLocked(held *hold) {
	if held == nil || h.inputHold != held {
		return
	}
	if held.timer != nil {
		held.timer.Stop()
	}
	h.inputHold = nil
	close(held.done)
}

// waitForHoldEnd waits until no delivery holds back people's keys (no hold is active), and returns the agent's input. It
// blocks new holds until the caller has sent its input or calls allowHolds: delayed input is sent before the next hold
// begins.
func (h *host) waitForHoldEnd() *childInput {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting++
	for h.inputHold != nil {
		if h.waitLocked(h.ctx, h.inputHold.done) != nil {
			break
		}
	}
	return h.run.input
}

// allowHolds undoes waitForHoldEnd for a caller that sends no input after all. New holds are allowed when no other caller waits.
func (h *host) allowHolds() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	h.bumpLocked()
}

// Hold delays what people type until release is called, ctx ends, this process exits, or HoldLimit has passed. Other input is
// not delayed.
func (c *Client) Hold(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	resp, err := c.request(ctx, http.MethodPost, "/hold", nil) //nolint:bodyclose // release closes it
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = resp.Body.Close() // the body has no content
	}, nil
}

// serveAnswered counts one more question of the agent that was answered through gc. last holds the names of the last answered
// questions; the state of the session reports both.
func (h *host) serveAnswered(_ *http.Request, last []string) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered++
	h.last = last
	return nil, nil
}
