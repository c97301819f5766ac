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
	over  chan struct{}
	timer *time.Timer // ends it; nil if its holder does
}

// hold answers once the hold stands, and ends it with the request or after HoldLimit.
func (s *server) hold(w http.ResponseWriter, r *http.Request) {
	h := s.host
	held, err := h.holdInput(r.Context())
	if err != nil {
		fail(w, http.StatusGone, codeExited, err.Error())
		return
	}
	defer h.letGo(held)
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

// holdInput waits for its turn: for other holds, and for people who were kept waiting.
func (h *host) holdInput(ctx context.Context) (*hold, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.held != nil || h.waiting > 0 {
		changed := h.changed
		if h.held != nil {
			changed = h.held.over
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
	h.held = &hold{over: make(chan struct{})}
	return h.held, nil
}

func (h *host) letGo(held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.letGoLocked(held)
}

// letGoLocked ends a hold that stands.
func (h *host) letGoLocked(held *hold) {
	if held == nil || h.held != held {
		return
	}
	if held.timer != nil {
		held.timer.Stop()
	}
	h.held = nil
	close(held.over)
}

// awaitLetGo returns the way to the agent when nothing is held back. No hold begins from
// then on until passed: what was kept back once comes before the next hold.
func (h *host) awaitLetGo() *process.Input {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting++
	for h.held != nil && h.ctx.Err() == nil {
		over := h.held.over
		h.mu.Unlock()
		select {
		case <-over:
		case <-h.ctx.Done():
		}
		h.mu.Lock()
	}
	return h.run.input
}

// passed lets holds begin again, for somebody whose input does not come.
func (h *host) passed() {
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
