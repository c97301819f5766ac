// Package journal is the account of deliveries of prompts into one terminal: what was done
// to its input line, noted before it is done, so that somebody else can tell the truth
// about a delivery that was cut off. Nothing here acts. Who owns the terminal keeps the
// account, in memory or stored: [Deliveries] is JSON.
package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ID is the name of a delivery in the account: its own if it was given one, else its
// text's.
func ID(given, text string) string {
	if given != "" {
		return given
	}
	sum := sha256.Sum256([]byte(text))
	return "text " + hex.EncodeToString(sum[:])
}

// Entry is what is known of one delivery of a prompt. A delivery has none until it is
// begun; the last one of an ID counts.
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

// Account is what is told of the deliveries into one incarnation.
type Account struct {
	// Last is the one that was begun last, nil if none was: only its text can be in the
	// input line.
	Last *Entry `json:"last,omitempty"`
	// Asked is the one that was asked for, nil if it was never begun.
	Asked *Entry `json:"asked,omitempty"`
	// Forgot: there were more deliveries than are remembered, so that one that is not
	// known may have been begun.
	Forgot bool `json:"forgot"`
}

// DefaultLimit bounds how many deliveries are remembered.
const DefaultLimit = 4096

// Deliveries is what is remembered of them. It is not safe for concurrent use; the zero
// value is empty.
type Deliveries struct {
	// Limit bounds how many are remembered; zero is DefaultLimit.
	Limit int

	entries map[string]*Entry
	order   []*Entry
	last    *Entry
	forgot  bool
}

// Begin notes a delivery before its first byte is sent. undo are the keys that take the
// text out of the input line; none if there are no such keys.
func (d *Deliveries) Begin(id string, text, undo []byte) {
	if d.entries == nil {
		d.entries = map[string]*Entry{}
	}
	if d.last != nil {
		d.last.close()
	}
	e := &Entry{ID: id, Text: text, Open: true, undo: undo}
	d.entries[id], d.last = e, e
	d.order = append(d.order, e)
	for len(d.order) > cmp.Or(d.Limit, DefaultLimit) {
		oldest := d.order[0]
		d.order = d.order[1:]
		if d.entries[oldest.ID] == oldest {
			delete(d.entries, oldest.ID)
			d.forgot = true
		}
	}
}

func (e *Entry) close() { e.Open, e.Text, e.undo = false, nil, nil }

// Restart notes that another process reads the terminal now: what was not submitted never
// will be.
func (d *Deliveries) Restart() {
	if e := d.last; e != nil && e.Open {
		e.Touched = true
		if !e.Entered {
			e.Outcome = OutcomeWithdrawn
		}
		e.close()
	}
}

// OutcomeWithdrawn is the outcome of a delivery whose text was taken away unsubmitted.
const OutcomeWithdrawn = "withdrawn"

// Deliverer is whether somebody has the right to deliver.
type Deliverer uint8

// The deliverers.
const (
	Gone Deliverer = iota
	There
)

// Touch notes that input which is no delivery's is about to be sent. It returns the keys
// that take a text of ours out of the line first, so that nobody's line is fused with it:
// where its delivery was cut off, or has lost its hold.
func (d *Deliveries) Touch(by Deliverer) []byte {
	e := d.last
	if e == nil || !e.Open {
		return nil
	}
	var undo []byte
	if !e.Touched && (!e.Entered || e.probed || by == Gone) {
		undo = e.undo
		e.Undone = len(undo) > 0
	}
	e.Touched = true
	return undo
}

// Taint notes that other input may have reached the line, as Touch does, where it came
// without asking: nothing can be taken out first. It reports whether that is news.
func (d *Deliveries) Taint() bool {
	e := d.last
	if e == nil || !e.Open || e.Touched {
		return false
	}
	e.Touched = true
	return true
}

// NotEntered takes back that the key was sent that submits the last text: it is known that
// it was not.
func (d *Deliveries) NotEntered() {
	if e := d.last; e != nil && e.Open {
		e.Entered, e.Seen = false, false
	}
}

// Input is what a piece of input means to the delivery that sends it.
type Input string

// The inputs.
const (
	Keys  Input = ""      // keys that submit nothing
	Enter Input = "enter" // submits the text
	Seen  Input = "seen"  // the same, and the input line was seen to hold the text
	Probe Input = "probe" // a mark behind the text
)

var (
	// ErrTouched reports that somebody else's input has come between a text and the key
	// that submits it; the key was not sent.
	ErrTouched = errors.New("other input came between the text and its Enter")
	// ErrNoDelivery reports input of a delivery that was not begun, or has ended.
	ErrNoDelivery = errors.New("no delivery is under way")
)

// Send notes a piece of input of the last delivery before it is sent. With an error it must
// not be.
func (d *Deliveries) Send(in Input) error {
	e := d.last
	switch {
	case in == Keys:
	case e == nil || !e.Open:
		return ErrNoDelivery
	case in == Probe:
		e.probed = true
	case e.Touched:
		return ErrTouched
	default:
		e.Entered, e.Seen = true, in == Seen
	}
	return nil
}

// Settle notes how a delivery ended: the entry's Outcome, Evidence and Open. Its text is
// forgotten unless it may still be in the input line. It reports whether the delivery is
// known.
func (d *Deliveries) Settle(end Entry) bool {
	e := d.entries[end.ID]
	if e == nil {
		return false
	}
	e.Outcome, e.Evidence = end.Outcome, end.Evidence
	if !end.Open {
		e.close()
	}
	return true
}

// Account returns the account, and of the delivery with the given ID.
func (d *Deliveries) Account(id string) Account {
	j := Account{Forgot: d.forgot}
	if e := d.last; e != nil {
		last := *e
		j.Last = &last
	}
	if e := d.entries[id]; e != nil {
		asked := *e
		asked.Text = nil
		j.Asked = &asked
	}
	return j
}
