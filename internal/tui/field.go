package tui

import (
	"strings"
	"unicode"
)

// field is an editor of text, of one line or of several. Its methods are pure: they change only the field.
type field struct {
	text  []rune
	at    int // position of the cursor, 0 to len(text)
	lines bool
	top   int // first visible row
}

// String returns the text.
func (f *field) String() string { return string(f.text) }

// set replaces the text and moves the cursor to its end.
func (f *field) set(text string) {
	f.text = f.text[:0]
	f.at = 0
	f.insert(text)
}

// insert adds text at the cursor. Control characters are left out; a field of one line gets blanks instead of line ends.
func (f *field) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var add []rune
	for _, r := range text {
		switch {
		case r == '\n' && f.lines, r == '\t' && f.lines:
			add = append(add, r)
		case r == '\n' || r == '\t':
			add = append(add, ' ')
		case unicode.IsControl(r):
		default:
			add = append(add, r)
		}
	}
	f.text = append(f.text[:f.at:f.at], append(add, f.text[f.at:]...)...)
	f.at += len(add)
}

// edit applies an editing key and reports whether it is one.
func (f *field) edit(key string) bool {
	switch key {
	case "backspace", "ctrl+h":
		f.remove(f.left(f.at), f.at)
	case "delete", "ctrl+d":
		f.remove(f.at, f.right(f.at))
	case "left", "ctrl+b":
		f.at = f.left(f.at)
	case "right", "ctrl+f":
		f.at = f.right(f.at)
	case "alt+left", "ctrl+left", "alt+b":
		f.at = f.wordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		f.at = f.wordRight()
	case "home", "ctrl+a":
		f.at = f.lineStart()
	case "end", "ctrl+e":
		f.at = f.lineEnd()
	case "ctrl+u":
		f.remove(f.lineStart(), f.at)
	case "ctrl+k":
		f.remove(f.at, f.lineEnd())
	case "ctrl+w", "alt+backspace":
		f.remove(f.wordLeft(), f.at)
	default:
		return false
	}
	return true
}

func (f *field) remove(from, to int) {
	f.text = append(f.text[:from], f.text[to:]...)
	f.at = from
}

// left and right return the position before and behind the character at a position, with its combining characters.
func (f *field) left(at int) int  { return max(0, f.back(at, combines)-1) }
func (f *field) right(at int) int { return f.ahead(min(at+1, len(f.text)), combines) }

func (f *field) wordLeft() int  { return f.back(f.back(f.at, unicode.IsSpace), isInWord) }
func (f *field) wordRight() int { return f.ahead(f.ahead(f.at, unicode.IsSpace), isInWord) }
func (f *field) lineStart() int { return f.back(f.at, isInLine) }
func (f *field) lineEnd() int   { return f.ahead(f.at, isInLine) }

// back returns the position before at, up to which ok holds for all characters.
func (f *field) back(at int, ok func(rune) bool) int {
	for at > 0 && ok(f.text[at-1]) {
		at--
	}
	return at
}

// ahead returns the position behind at, up to which ok holds for all characters.
func (f *field) ahead(at int, ok func(rune) bool) int {
	for at < len(f.text) && ok(f.text[at]) {
		at++
	}
	return at
}

func isInWord(r rune) bool { return !unicode.IsSpace(r) }
func isInLine(r rune) bool { return r != '\n' }
func combines(r rune) bool { return r != '\n' && columnsOf(r) == 0 }

// span is a visual row of a field: the characters from begin to end.
type span struct{ begin, end int }

// wrap returns the visual rows of the text at a width.
func (f *field) wrap(width int) []span {
	width = max(2, width)
	var rows []span
	begin, n, space := 0, 0, -1
	for i, r := range f.text {
		if r == '\n' {
			rows = append(rows, span{begin, i})
			begin, n, space = i+1, 0, -1
			continue
		}
		w := columnsOf(r)
		for n+w > width {
			cut := i
			if space > begin {
				cut = space
			}
			rows = append(rows, span{begin, cut})
			begin, space = cut, -1
			n = 0
			for _, moved := range f.text[cut:i] {
				n += columnsOf(moved)
			}
		}
		n += w
		if unicode.IsSpace(r) {
			space = i + 1
		}
	}
	return append(rows, span{begin, len(f.text)})
}

// columnsOf returns the columns of a character in a field.
func columnsOf(r rune) int {
	if r == '\t' {
		return 1
	}
	return runeWidth(r)
}

// find returns the visual row and the column of the cursor.
func (f *field) find(rows []span) (row, column int) {
	for i, s := range rows {
		last := i == len(rows)-1
		if f.at >= s.begin && (f.at < s.end || f.at == s.end && (last || rows[i+1].begin != s.end)) {
			row = i
			break
		}
	}
	for _, r := range f.text[rows[row].begin:f.at] {
		column += columnsOf(r)
	}
	return row, column
}

// move moves the cursor by visual rows, if there are so many.
func (f *field) move(step, width int) {
	rows := f.wrap(width)
	row, column := f.find(rows)
	if row += step; row < 0 || row >= len(rows) {
		return
	}
	f.at = rows[row].begin
	for f.at < rows[row].end && column > 0 {
		column -= columnsOf(f.text[f.at])
		f.at++
	}
	if f.at == rows[row].end && row+1 < len(rows) && rows[row+1].begin == rows[row].end && f.at > rows[row].begin {
		f.at--
	}
}

// draw draws the field and returns the position of the cursor in the area. A field of one line moves its text so that the cursor
// is visible.
func (f *field) draw(a area, s style) (x, y int) {
	if !f.lines {
		return f.drawLine(a, s)
	}
	rows := f.wrap(a.w)
	row, column := f.find(rows)
	f.top = max(min(f.top, row, len(rows)-a.h), row-a.h+1, 0)
	for y, r := range window(rows, f.top, a.h) {
		a.text(0, y, strings.ReplaceAll(string(f.text[r.begin:r.end]), "\t", " "), s)
	}
	return min(column, a.w-1), row - f.top
}

func (f *field) drawLine(a area, s style) (x, y int) {
	first := 0
	for first < f.at && textWidth(string(f.text[first:f.at])) >= a.w {
		first++
	}
	a.text(0, 0, string(f.text[first:]), s)
	return textWidth(string(f.text[first:f.at])), 0
}
