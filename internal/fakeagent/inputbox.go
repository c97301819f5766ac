package fakeagent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A paste of more than largePaste characters, or with at least largePasteLines lines, is shown as a placeholder.
const (
	largePaste      = 800
	largePasteLines = 4
	viewBytes       = 4096 // bytes before and after the cursor that are drawn
)

// span is a part of the text that is shown as a label and edited as one character.
type span struct {
	start, end int
	label      string
}

// inputBox holds the entered bytes unchanged, a cursor, and placeholders.
type inputBox struct {
	text   []byte
	cursor int
	spans  []span // in order, without overlaps
	pastes int    // number of placeholders since the agent started
}

// insert inserts bytes at the cursor.
func (c *inputBox) insert(data []byte) {
	c.text = slices.Insert(c.text, c.cursor, data...)
	for i := range c.spans {
		if c.spans[i].start >= c.cursor {
			c.spans[i].start += len(data)
			c.spans[i].end += len(data)
		}
	}
	c.cursor += len(data)
}

// paste inserts a bracketed paste unchanged. The screen shows a large one as a label.
func (c *inputBox) paste(data []byte) {
	start := c.cursor
	c.insert(data)
	lines := bytes.Count(data, []byte("\n"))
	if utf8.RuneCount(data) <= largePaste && lines+1 < largePasteLines {
		return
	}
	c.pastes++
	at, _ := slices.BinarySearchFunc(c.spans, start, func(s span, at int) int { return s.start - at })
	label := fmt.Sprintf("[Pasted text #%d +%d lines]", c.pastes, lines)
	c.spans = slices.Insert(c.spans, at, span{start: start, end: c.cursor, label: label})
}

// flush empties the input box and returns its text.
func (c *inputBox) flush() []byte {
	text := c.text
	c.text, c.cursor, c.spans = nil, 0, nil
	return text
}

// before returns the start of the character or placeholder that ends at the given index.
func (c *inputBox) before(at int) int {
	for _, s := range c.spans {
		if s.end == at && s.start < at {
			return s.start
		}
	}
	_, size := utf8.DecodeLastRune(c.text[:at])
	return at - size
}

// after returns the end of the character or placeholder that starts at the given index.
func (c *inputBox) after(at int) int {
	for _, s := range c.spans {
		if s.start == at && s.end > at {
			return s.end
		}
	}
	_, size := utf8.DecodeRune(c.text[at:])
	return at + size
}

// cut removes the text from start to end, including its placeholders.
func (c *inputBox) cut(start, end int) {
	c.text = slices.Delete(c.text, start, end)
	c.spans = slices.DeleteFunc(c.spans, func(s span) bool { return s.start < end && s.end > start })
	for i := range c.spans {
		if c.spans[i].start >= end {
			c.spans[i].start -= end - start
			c.spans[i].end -= end - start
		}
	}
	c.cursor = start
}

// edit handles an editing key. Unknown keys do nothing.
func (c *inputBox) edit(key string) {
	switch key {
	case "newline":
		c.insert([]byte("\n"))
	case "backspace":
		c.cut(c.before(c.cursor), c.cursor)
	case "delete", "c-d":
		c.cut(c.cursor, c.after(c.cursor))
	case "c-u":
		c.flush()
	case "c-w":
		c.cut(c.wordBefore(), c.cursor)
	case "left", "c-b":
		c.cursor = c.before(c.cursor)
	case "right", "c-f":
		c.cursor = c.after(c.cursor)
	case "home", "c-a":
		c.cursor = 0
	case "end", "c-e":
		c.cursor = len(c.text)
	}
}

// wordBefore returns the start of the word before the cursor.
func (c *inputBox) wordBefore() int {
	at := c.cursor
	blank := func() bool { return at > 0 && bytes.IndexByte([]byte(" \t\n"), c.text[at-1]) >= 0 }
	for blank() {
		at = c.before(at)
	}
	for at > 0 && !blank() {
		at = c.before(at)
	}
	return at
}

// view returns the lines to draw in a box of this size, and the position of the cursor in them. For a long text it returns the
// part around the cursor.
func (c *inputBox) view(width, height int) (lines []string, row, col int) {
	width = max(width, 4)
	wrap := wrapper{width: width}
	at, placed := c.viewStart(), false
	for {
		if at >= c.cursor && !placed {
			row, col, placed = len(wrap.lines), wrap.used, true
		}
		if at >= len(c.text) || at > c.cursor+viewBytes {
			break
		}
		next := c.after(at)
		if label := c.labelAt(at); label != "" {
			wrap.add(label)
		} else {
			wrap.add(string(c.text[at:next]))
		}
		at = next
	}
	wrap.flush()
	lines = wrap.lines
	if first := max(0, row-height+1); first > 0 || len(lines) > height {
		lines = lines[first:min(len(lines), first+height)]
		row -= first
	}
	return lines, row, min(col, width)
}

// viewStart returns an index at most viewBytes before the cursor that is not inside a character or placeholder.
func (c *inputBox) viewStart() int {
	at := max(0, c.cursor-viewBytes)
	for at > 0 && at < c.cursor && !utf8.RuneStart(c.text[at]) {
		at++
	}
	for _, s := range c.spans {
		if s.start < at && at < s.end {
			return s.start
		}
	}
	return at
}

// labelAt returns the label of the placeholder that starts at the given index; an empty string if there is none.
func (c *inputBox) labelAt(at int) string {
	for _, s := range c.spans {
		if s.start == at && s.end > at {
			return s.label
		}
	}
	return ""
}

// wrapper breaks text into lines of at most width columns.
type wrapper struct {
	width int
	lines []string
	line  strings.Builder
	used  int
}

// add adds one character or label, on a new line if it does not fit.
func (w *wrapper) add(piece string) {
	if piece == "\n" {
		w.flush()
		return
	}
	piece = printable(piece)
	size := columns(piece)
	if w.used+size > w.width && w.used > 0 {
		w.flush()
	}
	w.line.WriteString(piece)
	w.used += size
}

func (w *wrapper) flush() {
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.used = 0
}
