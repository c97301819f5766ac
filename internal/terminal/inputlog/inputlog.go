// Package inputlog is the account of deliveries of prompts into one terminal: what was done
// to its input box, noted before it is done, so that another process can find out the
// outcome of a delivery that was cut off. Nothing here acts. The owner of the terminal
// keeps the account, in memory or stored: [Deliveries] is JSON.
package inputlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"unicode/utf8"
)

// ID returns the name of a delivery in the account: its own if it was given one, else its
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
	// Open: the text, or a part of it, may be in the input box or on its way there.
	Open bool `json:"open"`
	// Unsent: not a byte of the text was sent, though marks may have been.
	Unsent bool `json:"unsent,omitempty"`
	// Marks is how many marks may be in the input box, or on their way there, behind all
	// else.
	Marks int `json:"marks,omitempty"`
	// Rest is how many characters of marks may be at the end of the input box: also those of
	// marks behind which a key was sent that removes text, which may have had no effect.
	Rest int `json:"rest,omitempty"`
	// Marked: a mark was typed, now or before.
	Marked bool `json:"marked,omitempty"`
	// Entered: the key that submits it was sent, or was about to be. Seen: the input box
	// held the text before that.
	Entered bool `json:"entered"`
	Seen    bool `json:"seen"`
	// Touched: something else may have reached the input box since it was begun.
	// Undone: the keys that take the text out of the line were sent before that.
	Touched bool `json:"touched"`
	Undone  bool `json:"undone"`
	// Behind: other input came before it, and the input box had not shown a text of ours by
	// then. A box that hides what it holds may hold that input, too.
	Behind bool `json:"behind,omitempty"`
	// Outcome is how it ended, in the words of the resolver; empty: it is not
	// resolved.
	Outcome  string `json:"outcome,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	// Final: Outcome does not change any more, although the text may be in the input box.
	Final bool `json:"final,omitempty"`
	// Blocked says why the input box cannot be used, for people; empty: it can. Only an
	// open delivery has it.
	Blocked string `json:"blocked,omitempty"`
	// Hidden: the input box did not show what was sent to it. That it looks empty proves
	// nothing then.
	Hidden bool `json:"hidden,omitempty"`
	// Shows, recorded with [Deliveries.RecordOutcome]: the input box has shown a mark. One that looks
	// empty is empty from then on.
	Shows bool `json:"shows,omitempty"`

	undo []byte
}

// Account is the state of the deliveries into one instance.
type Account struct {
	// Last is the one that was begun last, nil if none was: only its text can be in the
	// input box.
	Last *Entry `json:"last,omitempty"`
	// Asked is the one that was asked for, nil if it was never begun.
	Asked *Entry `json:"asked,omitempty"`
	// Forgot: there were more deliveries than are remembered, so that one that is not
	// known may have been begun.
	Forgot bool `json:"forgot"`
	// Unread: other input has come since a text was sent last. Whatever the screen shows,
	// the program may not have read it yet.
	Unread bool `json:"unread,omitempty"`
	// Partial: other input has come that may be a line which is not finished.
	Partial bool `json:"partial,omitempty"`
	// Shows: the input box of this program has shown what was sent to it. One that looks
	// empty is empty, once the program has read all of its input.
	Shows bool `json:"shows,omitempty"`
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
	unread  bool // other input has come since a text was sent
	news    bool // and since the account was read
	shows   bool // the input box has shown a text of ours
	partial bool // other input has come that may be a line which is not finished
}

// Begin records a delivery before its first byte is sent. undo are the keys that take the
// text out of the input box; none if there are no such keys.
func (d *Deliveries) Begin(id string, text, undo []byte) {
	if d.entries == nil {
		d.entries = map[string]*Entry{}
	}
	if d.last != nil {
		d.last.close()
	}
	e := &Entry{ID: id, Text: text, Open: true, Unsent: true, Behind: d.unread && !d.shows, undo: undo}
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

func (e *Entry) close() {
	e.Open, e.Text, e.undo, e.Marks, e.Rest, e.Blocked, e.Hidden = false, nil, nil, 0, 0, "", false
}

// Restart records that another process reads the terminal now: what was not submitted never
// will be.
func (d *Deliveries) Restart() {
	d.unread, d.shows, d.partial = false, false, false
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

// Touch records that input which is no delivery's is about to be sent. It returns the keys
// to be sent before it, so that a person's line is never joined with gc's text: those
// that take the text out of the line, also behind a key that submits, which may have been
// lost, and those that take marks away. They reach nothing else: no other input has come
// since the text, or since the marks.
func (d *Deliveries) Touch() []byte {
	d.unread, d.news, d.partial = true, true, true
	e := d.last
	if e == nil || !e.Open {
		return nil
	}
	undo := e.unmark()
	if !e.Touched && !e.Unsent && len(e.undo) > 0 {
		undo, e.Undone = e.removal(), true
	}
	e.Touched, e.Marks, e.Rest = true, 0, 0
	return undo
}

// Typed records the input for which Touch was called, where it is known: a line that was
// finished, given up or removed is not in the way of the next one.
func (d *Deliveries) Typed(p []byte) {
	if n := len(p); n > 0 && bytes.IndexByte([]byte{'\r', '\n', interrupt, killLine}, p[n-1]) >= 0 {
		d.partial = false
	}
}

const (
	interrupt = 0x03 // Ctrl-C
	killLine  = 0x15 // Ctrl-U
)

// Mark is what is typed to learn what a program has read: it stands behind all that was
// sent before it.
const Mark = "=.="

const backspace = 0x7f

// removal returns the keys that take the text out of the line. What may hide somebody's text
// before it gets a backspace for each character and nothing else. A box that hides the text as
// well may have made one piece of it, which one backspace removes: there only marks are removed.
func (e *Entry) removal() []byte {
	if !e.Behind {
		return e.undo
	}
	if e.Hidden {
		return e.unmark()
	}
	return append(e.unmark(), bytes.Repeat([]byte{backspace}, utf8.RuneCount(e.Text))...)
}

// unmark returns the keys that remove what is left of the marks at the end of a line.
func (e *Entry) unmark() []byte {
	return bytes.Repeat([]byte{backspace}, e.Rest)
}

// cleared records keys that remove text. Backspaces alone remove as many characters of marks.
// Of other keys it is not known what they remove. They are sent only where the line holds
// nothing but what is ours, and a backspace too many does no harm there.
func (e *Entry) cleared(keys []byte) {
	e.Marks = 0
	if len(bytes.Trim(keys, "\x7f")) == 0 {
		e.Rest = max(0, e.Rest-len(keys))
	}
}

// Taint notes that other input may have reached the line, as Touch does, where it came
// without asking: nothing can be taken out first, and marks are not at the end of the line
// any more. It reports whether that is news.
func (d *Deliveries) Taint() bool {
	d.unread, d.news, d.partial = true, true, true
	e := d.last
	if e == nil || !e.Open || e.Touched && e.Rest == 0 {
		return false
	}
	e.Touched, e.Marks, e.Rest = true, 0, 0
	return true
}

// NotSent takes back that a piece of input was sent last: it is known that it was not.
func (d *Deliveries) NotSent(in Input) {
	e := d.last
	if e == nil || !e.Open {
		return
	}
	switch in {
	case Text:
		e.Unsent = true
	case Enter, Seen:
		e.Entered, e.Seen = false, false
	case Probe:
		e.Marks, e.Rest = max(0, e.Marks-1), max(0, e.Rest-len(Mark))
	case Keys, Clear: // nothing is known by them
	}
}

// Input is what a piece of input means to the delivery that sends it.
type Input string

// The inputs. What is sent with Text, Enter or Seen is sent only if no other input has come
// since the delivery was begun, with Probe or Clear only if none has since the account was
// read: they never submit, mark or delete the input of another sender.
const (
	Keys  Input = ""      // keys that submit and delete nothing
	Text  Input = "text"  // the text: what was sent before is known to have been read
	Enter Input = "enter" // submits the text
	Seen  Input = "seen"  // the same, and the input box was seen to hold the text
	Probe Input = "probe" // a [Mark]
	Clear Input = "clear" // takes marks or text out of the line, also where no delivery is under way
)

var (
	// ErrTouched reports that somebody else's input came before a piece of input; the
	// piece was not sent.
	ErrTouched = errors.New("other input came first")
	// ErrChanged reports that the screen is another one than was seen; the input was not sent.
	ErrChanged = errors.New("the screen has changed")
	// ErrNoDelivery reports input of a delivery that was not begun, or has ended.
	ErrNoDelivery = errors.New("no delivery is under way")
	// ErrInput reports an input that is none of those known here.
	ErrInput = errors.New("unknown kind of input")
)

// Send records a piece of input of the last delivery, of these keys, at the moment when it is
// sent: other input comes before both or after both. With an error it must not be sent.
func (d *Deliveries) Send(in Input, keys []byte) error {
	e := d.last
	if e != nil && !e.Open {
		e = nil
	}
	switch in {
	case Keys:
		if e != nil {
			e.Unsent = false
		}
		return nil
	case Clear:
		if d.news {
			return ErrTouched
		}
		if bytes.IndexByte(keys, killLine) >= 0 {
			d.partial = false
		}
		if e != nil {
			e.cleared(keys)
		}
		return nil
	case Text, Enter, Seen, Probe:
	default:
		return ErrInput
	}
	switch {
	case e == nil:
		return ErrNoDelivery
	case in == Probe && d.news, in != Probe && e.Touched:
		return ErrTouched
	case in == Probe:
		e.Marks++
		e.Rest += len(Mark)
		e.Marked = true
		return nil
	case in == Text:
		d.unread, d.partial, e.Marks, e.Marked, e.Rest = false, false, 0, false, 0
	default:
		e.Entered, e.Seen = true, in == Seen
		d.shows, e.Behind = d.shows || e.Seen, e.Behind && !e.Seen
	}
	e.Unsent = false
	return nil
}

// RecordOutcome notes how a delivery ended: the entry's Outcome, Evidence, Final and
// Open, and of an open one Blocked and Hidden. Its text is forgotten unless it may still be in
// the input box. Shows is noted of the input box, and is not taken back. It reports whether
// the delivery is known.
func (d *Deliveries) RecordOutcome(end Entry) bool {
	e := d.entries[end.ID]
	if e == nil {
		return false
	}
	e.Outcome, e.Evidence, e.Final = end.Outcome, end.Evidence, end.Final
	e.Blocked, e.Hidden = end.Blocked, end.Hidden
	if end.Shows {
		d.shows, e.Behind = true, false
	}
	if !end.Open {
		e.close()
	}
	return true
}

// Account returns the account, and of the delivery with the given ID, to who has the right
// to deliver.
func (d *Deliveries) Account(id string) Account {
	d.news = false
	j := Account{Forgot: d.forgot, Unread: d.unread, Partial: d.partial, Shows: d.shows}
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
