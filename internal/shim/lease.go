package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gascity/internal/terminal/inputlog"
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

var errLease = errors.New("the lease has ended")

// handleLease answers with the number of the lease when it is granted. It ends the lease when the request ends.
func (s *server) handleLease(w http.ResponseWriter, r *http.Request) {
	h := s.host
	l, err := h.acquireLease(r.Context())
	if err != nil {
		fail(w, http.StatusGone, codeExited, err.Error())
		return
	}
	defer h.endLease(l)
	if err := json.NewEncoder(w).Encode(leaseResult{l.number}); err != nil {
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-h.ctx.Done():
	}
}

type leaseResult struct{ Number uint64 }

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

// leasedLocked returns the active lease that the request names. It returns errLease if that lease has ended.
func (h *host) leasedLocked(r *http.Request) (*lease, error) {
	number, err := strconv.ParseUint(r.FormValue("lease"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: lease: %w", errInvalid, err)
	}
	if l := h.lease; l != nil && l.number == number && !l.ended {
		return l, nil
	}
	return nil, errLease
}

// beginInput registers a write of the request's lease. The caller calls end when the write has finished.
func (h *host) beginInput(r *http.Request) (end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, err := h.leasedLocked(r)
	if err != nil {
		return nil, err
	}
	l.writes.Add(1)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.extendLocked(l.hold)
		l.writes.Done()
	}, nil
}

// frameSeen returns the number of the frame that a piece of input is meant for; zero means any frame.
func frameSeen(r *http.Request) (uint64, error) {
	text := r.FormValue("seen")
	if text == "" {
		return 0, nil
	}
	seen, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: seen: %w", errInvalid, err)
	}
	return seen, nil
}

// recordInput records a piece of input of a delivery immediately before it is written. seen is the number of the frame that it
// is meant for; zero means any. recordInput returns [ErrChanged] if the terminal has changed since that frame or has unread
// output.
func (h *host) recordInput(in inputlog.Input, keys []byte, seen uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seen != 0 && (seen != h.seq || h.run.streams.HasOutput()) {
		return ErrChanged
	}
	err := h.deliveries.Send(in, keys)
	if errors.Is(err, inputlog.ErrNoDelivery) || errors.Is(err, inputlog.ErrInput) {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	return err
}

// serveLeaseHold delays what people type for a lease. The hold ends with the lease, or when the lease has sent no input for
// HoldLimit.
func (h *host) serveLeaseHold(r *http.Request) (any, error) {
	held, err := h.acquireHold(r.Context())
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l, err := h.leasedLocked(r)
	if err != nil || l.hold != nil && h.inputHold != held {
		h.releaseHoldLocked(held)
		return nil, errors.Join(err, errLease)
	}
	l.hold = held
	held.timer = time.AfterFunc(HoldLimit, func() { h.releaseHold(held) })
	return nil, nil
}

// serveLeaseFree ends the hold of a lease.
func (h *host) serveLeaseFree(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, err := h.leasedLocked(r)
	if err == nil {
		h.releaseHoldLocked(l.hold)
		l.hold = nil
	}
	return nil, err
}

// extendLocked restarts the time limit of the hold if it is active.
func (h *host) extendLocked(held *hold) {
	if held != nil && h.inputHold == held && held.timer != nil {
		held.timer.Reset(HoldLimit)
	}
}

// Lease is the right to deliver prompts to a session. It must be used by one goroutine only.
type Lease struct {
	client *Client
	number uint64
	cancel context.CancelFunc
	resp   *http.Response
}

// Lease waits until no other client has the right to deliver and all input of its last holder is written. The lease ends with
// Close, when ctx ends, or when this process exits.
func (c *Client) Lease(ctx context.Context) (*Lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	resp, err := c.request(ctx, http.MethodPost, "/lease", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	var granted leaseResult
	if err := json.NewDecoder(resp.Body).Decode(&granted); err != nil {
		cancel()
		_ = resp.Body.Close() // the body has no more content
		return nil, c.unreachable(err)
	}
	return &Lease{c, granted.Number, cancel, resp}, nil
}

// Close ends the lease.
func (l *Lease) Close() {
	l.cancel()
	_ = l.resp.Body.Close() // the body has no more content
}

func (l *Lease) path(path string) string {
	return path + "?lease=" + strconv.FormatUint(l.number, 10)
}

// Send writes p to the agent's input in one piece.
func (l *Lease) Send(ctx context.Context, p []byte) error { return l.Type(ctx, inputlog.Keys, p) }

// Type writes a piece of input of the current delivery; in is its meaning for that delivery. It returns [ErrTouched] and writes
// nothing if other input was sent before, see [inputlog.Input].
func (l *Lease) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in), p)
}

// TypeSeen is Type for input that is meant for the frame with the number seen. It returns [ErrChanged] and writes nothing if
// the terminal has changed since that frame.
func (l *Lease) TypeSeen(ctx context.Context, seen uint64, in inputlog.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in)+"&seen="+strconv.FormatUint(seen, 10), p)
}

// Hold delays what people type until release is called, the lease ends, or nothing was sent for HoldLimit.
func (l *Lease) Hold(ctx context.Context) (release func(), err error) {
	if err := l.client.do(ctx, http.MethodPut, l.path("/hold"), nil, nil); err != nil {
		return nil, err
	}
	return func() {
		// If the request fails, the hold ends by its time limit.
		_ = l.client.do(context.WithoutCancel(ctx), http.MethodDelete, l.path("/hold"), nil, nil)
	}, nil
}
