package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"gascity/internal/terminal/inject"
)

// These are the requests with which a client types a prompt itself: a lease, each piece of input, and the log. A client uses
// them for a shim of the previous release, and a client of the previous release uses them for this shim. This file can be
// deleted one release after the release that added [State.Delivers].

// previousRoutes returns the routes of these requests.
func (h *host) previousRoutes() map[string]route {
	return map[string]route{
		"GET /journal": h.serveJournal,
		"POST /begin":  h.serveBegin,
		"POST /settle": h.serveSettle,
		"PUT /hold":    h.serveLeaseHold,
		"DELETE /hold": h.serveLeaseFree,
	}
}

// serveLeasedInput writes input of a delivery. The request names its lease.
func (h *host) serveLeasedInput(r *http.Request, p []byte) (any, error) {
	end, err := h.beginInput(r)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx := r.Context()
	if !h.spec.Terminal { // a partial line in a pipe would be joined with the next line
		ctx = h.ctx
	}
	seen, err := frameSeen(r)
	if err != nil {
		return nil, err
	}
	return h.send(ctx, func() ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return p, h.recordInputLocked(inject.Input(r.FormValue("kind")), p, seen)
	})
}

var errLease = errors.New("the lease has ended")

// handleLease grants a lease, the exclusive right to deliver prompts. It waits until the lease is free, answers with its
// number, and ends the lease when the client ends the request.
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

// serveLeaseFree ends a hold that a lease has begun: keys of people are no longer delayed.
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
func (l *Lease) Send(ctx context.Context, p []byte) error { return l.Type(ctx, inject.InputKeys, p) }

// Type writes a piece of input of the current delivery; in is its meaning for that delivery. It returns [ErrTouched] and writes
// nothing if other input was sent before, see [inject.Input].
func (l *Lease) Type(ctx context.Context, in inject.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in), p)
}

// TypeSeen is Type for input that is meant for the frame with the number seen. It returns [ErrChanged] and writes nothing if
// the terminal has changed since that frame.
func (l *Lease) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
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

type beginRequest struct {
	ID   string
	Text []byte // JSON could encode one byte of a string as six
	Undo []byte
}

type settleRequest struct {
	ID, Outcome, Evidence string
	Open                  bool
	Final                 bool   `json:",omitempty"`
	Blocked               string `json:",omitempty"`
	Hidden                bool   `json:",omitempty"`
}

// serveJournal returns the recorded deliveries to the holder of the lease.
func (h *host) serveJournal(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.leasedLocked(r); err != nil {
		return nil, err
	}
	return h.deliveries.Account(r.FormValue("id")), nil
}

// serveBegin records a delivery before its first byte is sent.
func (h *host) serveBegin(r *http.Request) (any, error) {
	var req beginRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	if req.ID == "" || len(req.Undo) > maxUndo {
		return nil, fmt.Errorf("%w: the delivery has no ID, or the keys that remove it have more than %d bytes", errInvalid, maxUndo)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.leasedLocked(r); err != nil {
		return nil, err
	}
	h.deliveries.Begin(req.ID, req.Text, req.Undo)
	return nil, nil
}

// maxUndo bounds the bytes of the keys that undo a delivery. One key may have 8 bytes or more in an extended keyboard mode.
const maxUndo = 16 << 10

// serveSettle records the outcome of a delivery.
func (h *host) serveSettle(r *http.Request) (any, error) {
	var req settleRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.leasedLocked(r); err != nil {
		return nil, err
	}
	end := Entry{
		ID: req.ID, Outcome: req.Outcome, Evidence: req.Evidence, Open: req.Open,
		Final: req.Final, Blocked: req.Blocked, Hidden: req.Hidden,
	}
	if !h.deliveries.RecordOutcome(end) {
		return nil, fmt.Errorf("%w: no delivery %q is known", errInvalid, req.ID)
	}
	return nil, nil
}

// Account returns the records of the deliveries, including the delivery with the given ID.
func (l *Lease) Account(ctx context.Context, id string) (Account, error) {
	var j Account
	err := l.client.call(ctx, http.MethodGet, l.path("/journal")+"&id="+url.QueryEscape(id), nil, &j)
	return j, err
}

// Begin records a delivery before its first byte is sent. undo holds the keys that delete the text from the input box; the shim
// sends them if other input arrives before the text is submitted. An empty undo means that there are no such keys.
func (l *Lease) Begin(ctx context.Context, id, text string, undo []byte) error {
	return l.client.call(ctx, http.MethodPost, l.path("/begin"), beginRequest{id, []byte(text), undo}, nil)
}

// RecordOutcome records the outcome of a delivery. The shim then deletes the recorded text, unless it may still be in the input
// box.
func (l *Lease) RecordOutcome(ctx context.Context, e Entry) error {
	return l.client.call(ctx, http.MethodPost, l.path("/settle"), settleRequest{
		ID: e.ID, Outcome: e.Outcome, Evidence: e.Evidence, Open: e.Open, Final: e.Final, Blocked: e.Blocked, Hidden: e.Hidden,
	}, nil)
}
