package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Entry is what the shim knows of one delivery of a prompt. A delivery has none until it
// is begun; the last one of an ID counts.
type Entry struct {
	ID   string `json:"id"`
	Text []byte `json:"text,omitempty"` // while Open
	// Open: the text, or a part of it, may be in the input line or on its way there.
	Open bool `json:"open"`
	// Entered: the key that submits it was sent, or was about to be. Seen: the input line
	// held the text before that.
	Entered bool `json:"entered"`
	Seen    bool `json:"seen"`
	// Touched: something else may have reached the input line since it was begun.
	// Undone: the keys that take the text out of the line were sent before that.
	Touched bool `json:"touched"`
	Undone  bool `json:"undone"`
	// Outcome is how it ended, in the words of who settled it; empty: nobody has.
	Outcome  string `json:"outcome,omitempty"`
	Evidence string `json:"evidence,omitempty"`

	undo   []byte
	probed bool // a mark was typed behind the text
}

// Journal is the account of the deliveries of one incarnation.
type Journal struct {
	// Last is the one that was begun last, nil if none was: only its text can be in the
	// input line.
	Last *Entry `json:"last,omitempty"`
	// Asked is the one that was asked for, nil if it was never begun.
	Asked *Entry `json:"asked,omitempty"`
	// Forgot: there were more deliveries than are remembered, so that one that is not
	// known may have been begun.
	Forgot bool `json:"forgot"`
}

// maxEntries bounds how many deliveries are remembered.
const maxEntries = 4096

// journal is guarded by the host's mu. The zero value is empty.
type journal struct {
	entries map[string]*Entry
	order   []*Entry
	last    *Entry
	forgot  bool
}

func (j *journal) begin(e *Entry) {
	if j.entries == nil {
		j.entries = map[string]*Entry{}
	}
	if j.last != nil {
		j.last.close()
	}
	j.entries[e.ID], j.last = e, e
	if j.order = append(j.order, e); len(j.order) <= maxEntries {
		return
	}
	oldest := j.order[0]
	j.order = j.order[1:]
	if j.entries[oldest.ID] == oldest {
		delete(j.entries, oldest.ID)
		j.forgot = true
	}
}

func (e *Entry) close() { e.Open, e.Text, e.undo = false, nil, nil }

// restart notes that another process reads the terminal now: what was not submitted never
// will be.
func (j *journal) restart() {
	if e := j.last; e != nil && e.Open {
		e.Touched = true
		if !e.Entered {
			e.Outcome = OutcomeWithdrawn
		}
		e.close()
	}
}

// OutcomeWithdrawn is the outcome of a delivery whose text was taken away unsubmitted.
const OutcomeWithdrawn = "withdrawn"

// touchLocked notes that input which is no delivery's is about to be sent. It returns the
// keys that take a text of ours out of the line first, so that nobody's line is fused with
// it: where its delivery was cut off, or has lost its hold.
func (h *host) touchLocked() []byte {
	e := h.journal.last
	if e == nil || !e.Open {
		return nil
	}
	var undo []byte
	if !e.Touched && (!e.Entered || e.probed || h.lease == nil) {
		undo = e.undo
		e.Undone = len(undo) > 0
	}
	e.Touched = true
	return undo
}

type beginRequest struct {
	ID   string
	Text []byte // bytes: as text, JSON could make six of one
	Undo []byte
}

type settleRequest struct {
	ID, Outcome, Evidence string
	Open                  bool
}

func (h *host) serveJournal(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := Journal{Forgot: h.journal.forgot}
	if e := h.journal.last; e != nil {
		last := *e
		j.Last = &last
	}
	if e := h.journal.entries[r.FormValue("id")]; e != nil {
		asked := *e
		asked.Text = nil
		j.Asked = &asked
	}
	return j, nil
}

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
	h.journal.begin(&Entry{ID: req.ID, Text: req.Text, undo: req.Undo, Open: true})
	return nil, nil
}

// maxUndo bounds the keys that undo a delivery.
const maxUndo = 4096

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
	e := h.journal.entries[req.ID]
	if e == nil {
		return nil, fmt.Errorf("%w: no delivery %q is known", errInvalid, req.ID)
	}
	e.Outcome, e.Evidence = req.Outcome, req.Evidence
	if !req.Open {
		e.close()
	}
	return nil, nil
}

// Journal returns the account of the deliveries, and of the one with the given ID.
func (l *Lease) Journal(ctx context.Context, id string) (Journal, error) {
	var j Journal
	err := l.client.call(ctx, http.MethodGet, "/journal?id="+url.QueryEscape(id), nil, &j)
	return j, err
}

// Begin notes a delivery before its first byte is sent. undo are the keys that take the
// text out of the line, sent should somebody else's input come before it is submitted;
// none if there are no such keys.
func (l *Lease) Begin(ctx context.Context, id, text string, undo []byte) error {
	return l.client.call(ctx, http.MethodPost, l.path("/begin"), beginRequest{id, []byte(text), undo}, nil)
}

// Settle notes how a delivery ended. Its text is forgotten unless it may still be in the
// input line.
func (l *Lease) Settle(ctx context.Context, e Entry) error {
	return l.client.call(ctx, http.MethodPost, l.path("/settle"), settleRequest{e.ID, e.Outcome, e.Evidence, e.Open}, nil)
}

// ErrTouched reports that somebody else's input has come between a text and the key that
// submits it; the key was not sent.
var ErrTouched = errors.New("other input came between the text and its Enter")
