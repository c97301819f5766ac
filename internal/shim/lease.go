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

// A lease is the right to deliver prompts. One holds it at a time, for as long as its
// connection stands. It is over when the holder has gone and everything that it sent has
// been written: nothing of a holder that died can arrive later, for its requests are
// refused from then on.
type lease struct {
	number uint64
	ended  bool           // nothing more is taken; guarded by the host's mu
	writes sync.WaitGroup // under way
	hold   *hold          // keeps people's input back; guarded by the host's mu
	done   chan struct{}
}

var errLease = errors.New("the lease is over")

// leased answers with the number of the lease once it is granted, and ends it with the
// request.
func (s *server) leased(w http.ResponseWriter, r *http.Request) {
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

func (h *host) endLease(l *lease) {
	h.mu.Lock()
	l.ended = true
	h.mu.Unlock()
	l.writes.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease = nil // before the hold: the next sender finds a delivery that was cut off
	h.releaseHoldLocked(l.hold)
	close(l.done)
}

// leasedLocked returns the lease of a request.
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

// beginInput begins a piece of input of a lease. end is called when it is written.
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

// frameSeen returns the number of the frame that a piece of input is for; zero: for any.
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

// recordInput records a piece of input of a delivery when it is its turn to be written. One for
// a frame is refused with [ErrChanged] if the terminal has changed since, or has output that is
// not read yet.
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

// serveHold keeps people's input back for a lease. The hold ends with the lease, or after
// HoldLimit without input of the lease.
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

// extendLocked lets a hold that stands begin again.
func (h *host) extendLocked(held *hold) {
	if held != nil && h.inputHold == held && held.timer != nil {
		held.timer.Reset(HoldLimit)
	}
}

// Lease is the right to deliver prompts into a session. It is for one goroutine.
type Lease struct {
	client *Client
	number uint64
	cancel context.CancelFunc
	resp   *http.Response
}

// Lease waits until the right to deliver is free, and nothing of its last holder is under
// way. It stands until Close, the end of ctx or of this process.
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
		_ = resp.Body.Close() // nothing is read from it
		return nil, c.unreachable(err)
	}
	return &Lease{c, granted.Number, cancel, resp}, nil
}

// Close gives the right back.
func (l *Lease) Close() {
	l.cancel()
	_ = l.resp.Body.Close() // nothing is read from it
}

func (l *Lease) path(path string) string {
	return path + "?lease=" + strconv.FormatUint(l.number, 10)
}

// Send writes input in one piece.
func (l *Lease) Send(ctx context.Context, p []byte) error { return l.Type(ctx, inputlog.Keys, p) }

// Type writes a piece of input of the delivery that was begun, as what it means to that.
// [ErrTouched]: other input came first, see [inputlog.Input], and it was not written.
func (l *Lease) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in), p)
}

// TypeSeen is Type for input that is only for the frame with the number seen. [ErrChanged]: the
// terminal has changed since, and it was not written.
func (l *Lease) TypeSeen(ctx context.Context, seen uint64, in inputlog.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in)+"&seen="+strconv.FormatUint(seen, 10), p)
}

// Hold keeps back what people type until release is called, the lease ends, or nothing was
// sent for HoldLimit.
func (l *Lease) Hold(ctx context.Context) (release func(), err error) {
	if err := l.client.do(ctx, http.MethodPut, l.path("/hold"), nil, nil); err != nil {
		return nil, err
	}
	return func() {
		// It ends by itself if this fails.
		_ = l.client.do(context.WithoutCancel(ctx), http.MethodDelete, l.path("/hold"), nil, nil)
	}, nil
}
