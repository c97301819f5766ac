package shim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"gascity/internal/terminal/inputlog"
)

// Records of prompt deliveries.
type (
	// Entry is the record of one delivery of a prompt.
	Entry = inputlog.Entry
	// Account holds the records of the deliveries of one instance.
	Account = inputlog.Account
)

// OutcomeWithdrawn is the outcome of a delivery whose text was deleted from the input box before it was submitted.
const OutcomeWithdrawn = inputlog.OutcomeWithdrawn

// ErrTouched reports that a piece of input was not sent, because other input was sent before it.
var ErrTouched = inputlog.ErrTouched

// ErrChanged reports that a piece of input was not sent, because the terminal has changed since the frame that it was meant
// for.
var ErrChanged = inputlog.ErrChanged

// touchLocked records that p, which belongs to no delivery, is about to be sent. It returns the keys that must be sent before p
// to delete the text of a delivery.
func (h *host) touchLocked(p []byte) []byte {
	undo := h.deliveries.Touch()
	h.deliveries.Typed(p)
	return undo
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
		return nil, fmt.Errorf("%w: no ID, or more than %d bytes to undo it", errInvalid, maxUndo)
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
