package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gascity/internal/shim/process"
)

// HoldLimit is how long what people type is kept back at most.
const HoldLimit = 2 * time.Second

// A hold keeps what people type back, in order, while a prompt is between its first byte
// and its Enter. It ends with the connection that asked for it: a sender that dies does
// not block typing.
type hold struct {
	done  chan struct{}
	timer *time.Timer // ends it; nil if its holder does
}

// handleHold answers once the hold stands, and ends it with the request or after HoldLimit.
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

// acquireHold waits for its turn: for other holds, and for people who were kept waiting.
func (h *host) acquireHold(ctx context.Context) (*hold, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.inputHold != nil || h.waiting > 0 {
		changed := h.changed
		if h.inputHold != nil {
			changed = h.inputHold.done
		}
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-h.ctx.Done():
		}
		h.mu.Lock()
		if ctx.Err() != nil || h.ctx.Err() != nil {
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

// releaseHoldLocked ends a hold that stands.
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

// waitForHoldEnd returns the way to the agent when nothing is held back. No hold begins from
// then on until passed: what was kept back once comes before the next hold.
func (h *host) waitForHoldEnd() *process.Input {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting++
	for h.inputHold != nil && h.ctx.Err() == nil {
		over := h.inputHold.done
		h.mu.Unlock()
		select {
		case <-over:
		case <-h.ctx.Done():
		}
		h.mu.Lock()
	}
	return h.run.input
}

// allowHolds lets holds begin again, for somebody whose input does not come.
func (h *host) allowHolds() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	h.bumpLocked()
}

// Hold keeps back what people type until release is called, ctx ends, this process does,
// or HoldLimit has passed. Input of other kinds goes through.
func (c *Client) Hold(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	resp, err := c.request(ctx, http.MethodPost, "/hold", nil) //nolint:bodyclose // release closes it
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = resp.Body.Close() // nothing is read from it
	}, nil
}

// serveAnswered counts an answered question. An older client gives no names.
func (h *host) serveAnswered(r *http.Request) (any, error) {
	var last []string
	if err := json.NewDecoder(r.Body).Decode(&last); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered++
	h.last = last
	return nil, nil
}
