package shim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"gascity/internal/terminal/inject"
)

// These are the requests with which a client types a prompt itself: a lease, each piece of input, and the log. A client uses
// them for a shim of the previous release, and a client of the previous release uses them for this shim. This file can be
// deleted one release after the release that added [State.Delivers].

// previousRoutes returns the routes of these requests. Input of a lease has the route of other input.
func (h *host) previousRoutes() map[string]route {
	return map[string]route{
		"GET /journal": h.withLease(func(r *http.Request, t *leasedTerminal) (any, error) {
			return t.Account(r.Context(), r.FormValue("id"))
		}),
		"POST /begin":  body(h.serveBegin),
		"POST /settle": body(h.serveSettle),
		"PUT /hold": h.withLease(func(r *http.Request, t *leasedTerminal) (any, error) {
			_, err := t.Hold(r.Context()) // ends with the lease, or when the lease has sent no input for HoldLimit
			return nil, err
		}),
		"DELETE /hold": h.withLease(func(_ *http.Request, t *leasedTerminal) (any, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.releaseHoldLocked(t.hold)
			return nil, nil
		}),
	}
}

var errLease = errors.New("the lease has ended")

// withLease returns a route that calls handle with the active lease that the request names. It answers with errLease if that lease
// has ended.
func (h *host) withLease(handle func(*http.Request, *leasedTerminal) (any, error)) route {
	return func(r *http.Request) (any, error) {
		number, err := strconv.ParseUint(r.FormValue("lease"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: lease: %w", errInvalid, err)
		}
		h.mu.Lock()
		t := h.lease
		if t == nil || t.number != number || t.ended {
			h.mu.Unlock()
			return nil, errLease
		}
		t.requests.Add(1)
		h.mu.Unlock()
		defer t.requests.Done()
		return handle(r, t)
	}
}

// handleLease grants a lease. It waits until the lease is free, answers with its number, and ends the lease when the client ends
// the request.
func (s *server) handleLease(w http.ResponseWriter, r *http.Request) {
	h := s.host
	t, err := h.acquireLease(r.Context())
	if err != nil {
		fail(w, http.StatusGone, codeExited, err.Error())
		return
	}
	defer t.close()
	if err := json.NewEncoder(w).Encode(leaseResult{t.number}); err != nil {
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

// serveLeasedInput writes input of a delivery. The request names its lease, and the number of the frame that the input is meant
// for; without a number the input is meant for any frame.
func (h *host) serveLeasedInput(r *http.Request, p []byte) (any, error) {
	return h.withLease(func(r *http.Request, t *leasedTerminal) (any, error) {
		seen, err := strconv.ParseUint(cmp.Or(r.FormValue("seen"), "0"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: seen: %w", errInvalid, err)
		}
		return nil, t.TypeSeen(r.Context(), seen, inject.Input(r.FormValue("kind")), p)
	})(r)
}

type (
	leaseResult  struct{ Number uint64 }
	beginRequest struct {
		ID   string
		Text []byte // JSON could encode one byte of a string as six
		Undo []byte
	}
	settleRequest struct {
		ID, Outcome, Evidence string
		Open                  bool
		Final                 bool   `json:",omitempty"`
		Blocked               string `json:",omitempty"`
		Hidden                bool   `json:",omitempty"`
	}
)

// maxUndo bounds the bytes of the keys that undo a delivery. One key may have 8 bytes or more in an extended keyboard mode.
const maxUndo = 16 << 10

// serveBegin records a delivery before its first byte is sent.
func (h *host) serveBegin(r *http.Request, req beginRequest) (any, error) {
	if req.ID == "" || len(req.Undo) > maxUndo {
		return nil, fmt.Errorf("%w: the delivery has no ID, or the keys that remove it have more than %d bytes", errInvalid, maxUndo)
	}
	return h.withLease(func(r *http.Request, t *leasedTerminal) (any, error) {
		return nil, t.Begin(r.Context(), req.ID, string(req.Text), req.Undo)
	})(r)
}

// serveSettle records the outcome of a delivery.
func (h *host) serveSettle(r *http.Request, req settleRequest) (any, error) {
	return h.withLease(func(r *http.Request, t *leasedTerminal) (any, error) {
		return nil, t.RecordOutcome(r.Context(), inject.DeliveryEntry{
			ID: req.ID, Outcome: req.Outcome, Evidence: req.Evidence, Open: req.Open,
			Final: req.Final, Blocked: req.Blocked, Hidden: req.Hidden,
		})
	})(r)
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

// Type writes a piece of input of the current delivery; in is its meaning for that delivery. It returns [inject.ErrTouched] and writes
// nothing if other input was sent before, see [inject.Input].
func (l *Lease) Type(ctx context.Context, in inject.Input, p []byte) error {
	return l.client.input(ctx, l.path("/input")+"&kind="+string(in), p)
}

// TypeSeen is Type for input that is meant for the frame with the number seen. It returns [inject.ErrChanged] and writes nothing if
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

// Account returns the records of the deliveries, including the delivery with the given ID.
func (l *Lease) Account(ctx context.Context, id string) (inject.DeliveryAccount, error) {
	var j inject.DeliveryAccount
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
func (l *Lease) RecordOutcome(ctx context.Context, e inject.DeliveryEntry) error {
	return l.client.call(ctx, http.MethodPost, l.path("/settle"), settleRequest{
		ID: e.ID, Outcome: e.Outcome, Evidence: e.Evidence, Open: e.Open, Final: e.Final, Blocked: e.Blocked, Hidden: e.Hidden,
	}, nil)
}
