package fakeagent

import (
	"bytes"
	"slices"
	"strings"
)

// eventKind is the kind of an [inputEvent].
type eventKind int

// The kinds of events.
const (
	textEvent  eventKind = iota // printable bytes, unchanged
	pasteEvent                  // the content of one bracketed paste, unchanged
	keyEvent                    // any other key
)

// inputEvent is one input of a user. The key names are "enter", "newline", "escape", "backspace", "up", "down", "left", "right",
// "home", "end", "delete", "tab" and "c-a" to "c-z". Key is empty for an unknown sequence.
type inputEvent struct {
	Kind eventKind
	Data []byte
	Key  string
}

// The sequences around a bracketed paste.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keyDecoder converts the bytes of a terminal into events. Chunks may be split anywhere. It stores an incomplete escape sequence;
// Flush converts that into a plain Escape.
type keyDecoder struct {
	Brackets bool   // whether bracketed paste is enabled; if not, its sequences are unknown keys
	rest     []byte // an incomplete sequence
	pasting  bool
	paste    []byte
}

// Feed returns the events that are complete after a chunk.
func (d *keyDecoder) Feed(chunk []byte) []inputEvent {
	var events []inputEvent
	data := chunk
	if len(d.rest) > 0 {
		data = slices.Concat(d.rest, chunk)
		d.rest = nil
	}
	for len(data) > 0 {
		if d.pasting {
			var ended bool
			data, ended = d.feedPaste(data)
			if ended {
				events = append(events, inputEvent{Kind: pasteEvent, Data: d.paste})
				d.paste = nil
			}
			continue
		}
		if run := textRun(data); run > 0 {
			events = append(events, inputEvent{Kind: textEvent, Data: bytes.Clone(data[:run])})
			data = data[run:]
			continue
		}
		size, key := sequence(data)
		if size == 0 {
			d.rest = bytes.Clone(data)
			break
		}
		if d.Brackets && string(data[:size]) == pasteStart {
			d.pasting = true
		} else {
			events = append(events, inputEvent{Kind: keyEvent, Key: key})
		}
		data = data[size:]
	}
	return events
}

// feedPaste adds bytes up to the end sequence to the paste. It searches only bytes in which the end sequence could begin, so
// that a large paste takes linear time.
func (d *keyDecoder) feedPaste(data []byte) (rest []byte, ended bool) {
	from := max(0, len(d.paste)-len(pasteEnd)+1)
	d.paste = append(d.paste, data...)
	at := bytes.Index(d.paste[from:], []byte(pasteEnd))
	if at < 0 {
		return nil, false
	}
	end := from + at
	rest = bytes.Clone(d.paste[end+len(pasteEnd):])
	d.paste = d.paste[:end]
	d.pasting = false
	return rest, true
}

// Waiting reports whether an incomplete escape sequence is stored.
func (d *keyDecoder) Waiting() bool { return len(d.rest) > 0 }

// Flush returns the incomplete sequence as the Escape key and typed characters.
func (d *keyDecoder) Flush() []inputEvent {
	if len(d.rest) == 0 {
		return nil
	}
	rest := d.rest[1:]
	d.rest = nil
	return append([]inputEvent{{Kind: keyEvent, Key: "escape"}}, d.Feed(rest)...)
}

// textRun returns the number of bytes at the start of data that are text. A tab is text.
func textRun(data []byte) int {
	for i, b := range data {
		if (b < 0x20 && b != '\t') || b == 0x7f {
			return i
		}
	}
	return len(data)
}

// sequence returns the length and the key of the control character or escape sequence at the start of data. The length is 0 if
// the sequence is incomplete.
func sequence(data []byte) (size int, key string) {
	if data[0] != 0x1b {
		return 1, control(data[0])
	}
	if len(data) == 1 {
		return 0, ""
	}
	switch data[1] {
	case '[':
		for i := 2; i < len(data); i++ {
			if data[i] >= 0x40 && data[i] <= 0x7e {
				return i + 1, csiKey(string(data[2 : i+1]))
			}
			if data[i] < 0x20 { // not an escape sequence
				return i, ""
			}
		}
		return 0, ""
	case 'O':
		if len(data) == 2 {
			return 0, ""
		}
		return 3, csiKey(string(data[2:3]))
	case ']', 'P', '_', '^':
		return stringSequence(data)
	case '\r', '\n':
		return 2, "newline"
	case 0x1b:
		return 1, "escape"
	}
	return 2, "" // Alt with a key
}

// stringSequence returns the length of a terminal's answer that ends with BEL or ESC \; 0 if it is incomplete.
func stringSequence(data []byte) (size int, key string) {
	for i := 2; i < len(data); i++ {
		if data[i] == 0x07 {
			return i + 1, ""
		}
		if data[i] == '\\' && data[i-1] == 0x1b {
			return i + 1, ""
		}
	}
	return 0, ""
}

// control returns the key name of a control character; an empty string if it has none.
func control(b byte) string {
	switch b {
	case '\r':
		return "enter"
	case '\n':
		return "newline"
	case 0x7f, 0x08:
		return "backspace"
	}
	if b >= 1 && b <= 26 {
		return "c-" + string(rune('a'+b-1))
	}
	return ""
}

// csiKey returns the key name of a CSI or SS3 sequence; an empty string if it has none.
func csiKey(body string) string {
	switch final := body[len(body)-1]; final {
	case 'A':
		return "up"
	case 'B':
		return "down"
	case 'C':
		return "right"
	case 'D':
		return "left"
	case 'H':
		return "home"
	case 'F':
		return "end"
	case '~':
		number, _, _ := strings.Cut(body[:len(body)-1], ";")
		return map[string]string{"1": "home", "7": "home", "4": "end", "8": "end", "3": "delete"}[number]
	}
	return ""
}
