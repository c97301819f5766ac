package inject

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// DeliveryID returns the ID of a delivery in the log: given, or a hash of the text if given is empty.
func DeliveryID(given, text string) string {
	if given != "" {
		return given
	}
	sum := sha256.Sum256([]byte(text))
	return "text " + hex.EncodeToString(sum[:])
}

// DeliveryEntry is the log entry of one delivery of a prompt. It exists from Begin on. If several deliveries have the same ID, the
// last one counts.
type DeliveryEntry struct {
	ID   string `json:"id"`
	Text []byte `json:"text,omitempty"` // set while Open is true
	// Open: the text, or a part of it, may be in the input box or in unread input.
	Open bool `json:"open"`
	// Unsent: not a byte of the text was sent. Marks may have been sent.
	Unsent bool `json:"unsent,omitempty"`
	// Marks is the number of marks that may be at the end of the input box or of the unread input.
	Marks int `json:"marks,omitempty"`
	// Rest is the number of characters of marks that may be at the end of the input box. It includes marks after which a
	// key that removes text was sent, because the key may have had no effect.
	Rest int `json:"rest,omitempty"`
	// Marked: a mark was typed at some time.
	Marked bool `json:"marked,omitempty"`
	// Entered: the submit key was sent or was about to be sent. Seen: the input box contained the text before it.
	Entered bool `json:"entered"`
	Seen    bool `json:"seen"`
	// Touched: other input may have reached the input box since Begin. Undone: the keys that remove the text were sent
	// before that other input.
	Touched bool `json:"touched"`
	Undone  bool `json:"undone"`
	// Behind: other input arrived before the delivery, and the input box had not shown a text of gc by then. A box that
	// hides its content may contain that input, too.
	Behind bool `json:"behind,omitempty"`
	// Outcome is the outcome of the delivery: a runtime.OutcomeState or OutcomeWithdrawn. Empty means not resolved.
	Outcome  string `json:"outcome,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	// Final: Outcome does not change any more, although the text may be in the input box.
	Final bool `json:"final,omitempty"`
	// Blocked is the reason, for people, why the input box cannot be used; empty if it can. Only an open delivery
	// has it.
	Blocked string `json:"blocked,omitempty"`
	// Hidden: the input box did not show what was sent to it, so an empty look proves nothing.
	Hidden bool `json:"hidden,omitempty"`
	// Shows is an argument of [DeliveryLog.RecordOutcome]: the input box has shown a mark. From then on a box that looks
	// empty is empty.
	Shows bool `json:"shows,omitempty"`

	undo []byte
}

// DeliveryAccount is the state of the deliveries to one instance.
type DeliveryAccount struct {
	// Last is the delivery that was begun last; nil if there is none. Only its text can be in the input box.
	Last *DeliveryEntry `json:"last,omitempty"`
	// Asked is the requested delivery; nil if it is not in the log.
	Asked *DeliveryEntry `json:"asked,omitempty"`
	// Forgot: the log has dropped old entries, so a delivery that is not in it may have been begun.
	Forgot bool `json:"forgot"`
	// Unread: other input has arrived since a text was sent last. The program may not have read it, whatever the screen
	// shows.
	Unread bool `json:"unread,omitempty"`
	// Partial: other input has arrived that may be an unfinished line.
	Partial bool `json:"partial,omitempty"`
	// Unfinished: a person's last keys are known, and leave an unfinished line.
	Unfinished bool `json:"unfinished,omitempty"`
	// Shows: the input box of this program has shown what was sent to it. If the program has read all input, a box that
	// looks empty is empty.
	Shows bool `json:"shows,omitempty"`
}

// DefaultLogLimit is the default of DeliveryLog.Limit.
const DefaultLogLimit = 4096

// DeliveryLog is the log of the deliveries into one terminal. Each input is logged before it is sent, so another process can find
// out the outcome of an interrupted delivery. The log does no I/O: the owner of the terminal keeps it in memory or stores it as
// JSON. It is not safe for concurrent use. The zero value is empty.
type DeliveryLog struct {
	// Limit is the largest number of entries; zero means DefaultLogLimit.
	Limit int

	entries map[string]*DeliveryEntry
	order   []*DeliveryEntry
	last    *DeliveryEntry

	logState
}

// logState is what the log remembers beside its entries. It has the same form in JSON.
type logState struct {
	Forgot  bool `json:"forgot,omitempty"`  // old entries were dropped
	Unread  bool `json:"unread,omitempty"`  // other input has arrived since a text was sent
	News    bool `json:"news,omitempty"`    // other input has arrived since Account was called
	Shows   bool `json:"shows,omitempty"`   // the input box has shown a text of gc
	Partial bool `json:"partial,omitempty"` // other input has arrived that may be an unfinished line

	Unfinished bool `json:"unfinished,omitempty"` // a person's last keys are known, and leave an unfinished line
	Characters int  `json:"characters,omitempty"` // the number of characters of that line; 0 if it is not known
}

// Begin records a delivery before its first byte is sent. undo are the keys that remove the text from the input box; empty
// if there are no such keys.
func (d *DeliveryLog) Begin(id string, text, undo []byte) {
	if d.entries == nil {
		d.entries = map[string]*DeliveryEntry{}
	}
	if d.last != nil {
		d.last.close()
	}
	e := &DeliveryEntry{ID: id, Text: text, Open: true, Unsent: true, Behind: d.Unread && !d.Shows, undo: undo}
	d.entries[id], d.last = e, e
	d.order = append(d.order, e)
	for len(d.order) > cmp.Or(d.Limit, DefaultLogLimit) {
		oldest := d.order[0]
		d.order = d.order[1:]
		if d.entries[oldest.ID] == oldest {
			delete(d.entries, oldest.ID)
			d.Forgot = true
		}
	}
}

// close marks the entry as not open and removes what only an open entry needs.
func (e *DeliveryEntry) close() {
	e.Open, e.Text, e.undo, e.Marks, e.Rest, e.Blocked, e.Hidden = false, nil, nil, 0, 0, "", false
}

// Restart records that the agent's process was replaced, so another process reads the terminal now. The text of an open
// delivery will never be submitted.
func (d *DeliveryLog) Restart() {
	d.Unread, d.Shows, d.Partial, d.Unfinished, d.Characters = false, false, false, false, 0
	if e := d.last; e != nil && e.Open {
		e.Touched = true
		if !e.Entered {
			e.Outcome = OutcomeWithdrawn
		}
		e.close()
	}
}

// OutcomeWithdrawn is the outcome of a delivery whose text was removed before it was submitted.
const OutcomeWithdrawn = "withdrawn"

// Touch records that input that belongs to no delivery, such as a person's keys, is about to be sent. It returns the keys
// to send before that input; nil if none are needed. They remove the marks and the text of an open delivery, even if its
// submit key was sent, because that key may have been lost. So a person's line is never joined with gc's text. They remove
// nothing else, because no other input has arrived since the text or the marks.
func (d *DeliveryLog) Touch() []byte {
	d.Unread, d.News, d.Partial = true, true, true
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

// Typed records the input for which Touch was called, if the caller knows it. No unfinished line remains if the input ends
// with a key that finishes, interrupts or removes the line, or if backspaces have removed every character of the line.
func (d *DeliveryLog) Typed(p []byte) {
	if len(p) == 0 {
		return
	}
	keys := plainKeys(string(p))
	switch {
	case EndsLine([]byte(keys)):
		d.Unfinished, d.Characters = false, 0
	case d.Unfinished && d.Characters == 0: // backspaces do not show what is left of an unknown line
	default:
		characters, known := lineAfter(d.Characters, keys)
		d.Unfinished, d.Characters = !known || characters > 0, characters
	}
	d.Partial = d.Partial && d.Unfinished
}

// lineAfter returns the number of characters of a line of n characters after the input. known is false if the input has a key
// that may change the line in another way. Escape changes no line. A mouse report or a key that moves the cursor changes no
// line either, but in a line with characters a backspace may then remove another one, or none.
func lineAfter(n int, input string) (characters int, known bool) {
	for input != "" {
		if report := cursorInput.FindString(input); report != "" && n == 0 {
			input = input[len(report):]
			continue
		}
		c, size := utf8.DecodeRuneInString(input)
		input = input[size:]
		switch {
		case c == '\x1b' && (input == "" || input[0] == '\x1b'):
		case string(c) == backspace:
			n = max(0, n-1)
		case unicode.IsPrint(c) && c != utf8.RuneError:
			n++
		default:
			return 0, false
		}
	}
	return n, true
}

// cursorInput matches a mouse report, and the keys Left, Right, Home and End.
var cursorInput = regexp.MustCompile(`^\x1b(\[<[0-9;]+[Mm]|[\[O][CDFH])`)

// EndsLine reports whether the input ends with a key that finishes, interrupts or removes the line.
func EndsLine(p []byte) bool {
	return len(p) > 0 && bytes.IndexByte([]byte{'\r', '\n', interrupt, killLine}, p[len(p)-1]) >= 0
}

// InputMark is the text that is typed to find out whether a program has read its input. When the mark shows, the program has
// read everything before it.
const InputMark = "=.="

// removal returns the keys that remove the text from the input box. If other input may be before the text (Behind), they are
// only backspaces, one for each character. If the box also hides its content, they remove only the marks, because the box may
// have joined everything to one piece that one backspace removes.
func (e *DeliveryEntry) removal() []byte {
	if !e.Behind {
		return e.undo
	}
	if e.Hidden {
		return e.unmark()
	}
	return append(e.unmark(), bytes.Repeat([]byte(backspace), utf8.RuneCount(e.Text))...)
}

// unmark returns the keys that remove the rest of the marks at the end of the input box.
func (e *DeliveryEntry) unmark() []byte {
	return bytes.Repeat([]byte(backspace), e.Rest)
}

// cleared records keys that remove text. Backspaces alone remove that many characters of marks. The effect of other keys is
// not known, so Rest stays. Such keys are sent only if the box contains nothing but gc's text, where additional backspaces
// are harmless.
func (e *DeliveryEntry) cleared(keys []byte) {
	e.Marks = 0
	if len(bytes.Trim(keys, "\x7f")) == 0 {
		e.Rest = max(0, e.Rest-len(keys))
	}
}

// Taint records that other input, of a person or another program, may already be in the input box, behind the text that gc has
// typed there. Use Touch instead if that input was not sent yet. From now on gc must not press the keys that would remove its
// own text, because they would remove the other input first. The same applies to the marks: short texts that gc types to find out
// what the box contains. Taint reports whether it has changed the entry of the delivery in progress.
func (d *DeliveryLog) Taint() bool {
	d.Unread, d.News, d.Partial = true, true, true
	e := d.last
	if e == nil || !e.Open || e.Touched && e.Rest == 0 {
		return false
	}
	e.Touched, e.Marks, e.Rest = true, 0, 0
	return true
}

// NotSent undoes the record of the last piece of input, which certainly was not sent.
func (d *DeliveryLog) NotSent(in Input) {
	e := d.last
	if e == nil || !e.Open {
		return
	}
	switch in {
	case InputText:
		e.Unsent = true
	case InputEnter, InputSeen:
		e.Entered, e.Seen = false, false
	case InputProbe:
		e.Marks, e.Rest = max(0, e.Marks-1), max(0, e.Rest-len(InputMark))
	case InputKeys, InputClear: // their records cannot be undone
	}
}

// Input is the kind of a piece of input that a delivery sends.
type Input string

// The kinds of input. InputText, InputEnter and InputSeen are sent only if no other input has arrived since Begin. InputProbe
// and InputClear are sent only if no other input has arrived since Account was called. So they never submit, mark or delete the
// input of another sender.
const (
	InputKeys  Input = ""      // keys that submit and delete nothing
	InputText  Input = "text"  // the text of the delivery; the program has read all earlier input
	InputEnter Input = "enter" // the submit key
	InputSeen  Input = "seen"  // the submit key, and the input box showed the text before it
	InputProbe Input = "probe" // an [InputMark]
	InputClear Input = "clear" // keys that remove marks or text, also without an open delivery
)

var (
	// ErrTouched reports that input of another sender came before a piece of input; the piece was not sent.
	ErrTouched = errors.New("input of another sender arrived first")
	// ErrChanged reports that the screen has changed since it was read; the input was not sent.
	ErrChanged = errors.New("the screen has changed")
	// ErrNoDelivery reports input of a delivery that was not begun or has ended.
	ErrNoDelivery = errors.New("no delivery is in progress")
	// ErrInput reports an unknown kind of input.
	ErrInput = errors.New("unknown kind of input")
)

// Send records a piece of input of the last delivery. The caller must record and send it in one step: other input comes
// before both or after both. If Send returns an error, the input must not be sent.
func (d *DeliveryLog) Send(in Input, keys []byte) error {
	e := d.last
	if e != nil && !e.Open {
		e = nil
	}
	switch in {
	case InputKeys:
		if e != nil {
			e.Unsent = false
		}
		return nil
	case InputClear:
		if d.News {
			return ErrTouched
		}
		if bytes.IndexByte(keys, killLine) >= 0 {
			d.Partial, d.Unfinished, d.Characters = false, false, 0
		}
		if e != nil {
			e.cleared(keys)
		}
		return nil
	case InputText, InputEnter, InputSeen, InputProbe:
	default:
		return ErrInput
	}
	switch {
	case e == nil:
		return ErrNoDelivery
	case in == InputProbe && d.News, in != InputProbe && e.Touched:
		return ErrTouched
	case in == InputProbe:
		e.Marks++
		e.Rest += len(InputMark)
		e.Marked = true
		return nil
	case in == InputText:
		d.Unread, d.Partial, d.Unfinished, d.Characters, e.Marks, e.Marked, e.Rest = false, false, false, 0, 0, false, 0
	default:
		e.Entered, e.Seen = true, in == InputSeen
		d.Shows, e.Behind = d.Shows || e.Seen, e.Behind && !e.Seen
	}
	e.Unsent = false
	return nil
}

// RecordOutcome copies Outcome, Evidence, Final, Blocked and Hidden of end to the entry with its ID. If end.Open is false,
// it closes the entry and drops its text. If end.Shows is true, the log remembers that this input box shows what is typed
// into it, so the entry is not Behind any more. RecordOutcome reports whether the log has such an entry.
func (d *DeliveryLog) RecordOutcome(end DeliveryEntry) bool {
	e := d.entries[end.ID]
	if e == nil {
		return false
	}
	e.Outcome, e.Evidence, e.Final = end.Outcome, end.Evidence, end.Final
	e.Blocked, e.Hidden = end.Blocked, end.Hidden
	if end.Shows {
		d.Shows, e.Behind = true, false
	}
	if !end.Open {
		e.close()
	}
	return true
}

// Account returns the state of the deliveries, with Asked set to the delivery with the given ID. It marks the input so far as
// read, so only the deliverer that types next may call it.
func (d *DeliveryLog) Account(id string) DeliveryAccount {
	d.News = false
	account := DeliveryAccount{Forgot: d.Forgot, Unread: d.Unread, Partial: d.Partial, Unfinished: d.Unfinished, Shows: d.Shows}
	if e := d.last; e != nil {
		last := *e
		account.Last = &last
	}
	if e := d.entries[id]; e != nil {
		asked := *e
		asked.Text = nil
		account.Asked = &asked
	}
	return account
}
