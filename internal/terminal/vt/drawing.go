package vt

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"
)

// Drawing is what a [Screen] shows, drawn once for any number of terminals of the screen's size. Each terminal has the number of
// the version that it shows, and gets the rows that have changed since. The zero value is ready for use. Frame may be called
// concurrently with other calls of Frame, not with Update.
//
// As a [Renderer] does, it draws the screen and never the program's own output.
type Drawing struct {
	version    uint64 // of the last change; 0 before the first Update
	cols, rows int
	resized    uint64         // the version in which the size has changed
	drawn      []part         // one for each row, without the sequence that moves to it
	masked     map[int]string // rows whose text is shown in place of their cells, see Update
	status     part           // modes and title
	cursor     []byte
	buf        []byte
}

// part is a part of a drawing and the version in which it has changed.
type part struct {
	text    []byte
	version uint64
}

// set replaces the text of the part if it is different, and reports whether it was.
func (p *part) set(text []byte, version uint64) bool {
	if p.version > 0 && bytes.Equal(p.text, text) {
		return false
	}
	p.text, p.version = bytes.Clone(text), version
	return true
}

// Update draws the rows of s that have changed since the last Update, and reports whether anything has changed. mask returns
// the text of rows to show in place of their own, for example without secrets. A row that it changes is drawn without styles.
// mask may be nil.
func (d *Drawing) Update(s *Screen, mask func(text string) string) bool {
	next := d.version + 1
	changed := false
	if d.cols != s.cols || d.rows != s.rows {
		d.cols, d.rows, d.resized, changed = s.cols, s.rows, next, true
		d.drawn = make([]part, s.rows)
	}
	d.masked = maskRows(s, mask)
	for y := range d.drawn {
		b := d.buf[:0]
		if text, ok := d.masked[y]; ok {
			b = appendText(b, text, s.cols)
		} else {
			b = s.appendRow(b, y, s.cols)
		}
		changed = d.drawn[y].set(b, next) || changed
		d.buf = b[:0]
	}
	b := d.buf[:0]
	b = append(b, modesOff...)
	b = s.appendInputModes(b, Modes{})
	b = appendTitle(b, s.title)
	changed = d.status.set(b, next) || changed
	cursor := s.Cursor()
	b = appendMove(b[:0], cursor.X, cursor.Y)
	if cursor.Visible {
		b = append(b, "\x1b[?25h"...)
	}
	b = appendShape(b, cursor.Shape)
	if !bytes.Equal(b, d.cursor) {
		d.cursor, changed = bytes.Clone(b), true
	}
	if d.buf = b[:0]; changed {
		d.version = next
	}
	return changed
}

// maskRows returns the text of the rows that mask changes. Rows that it changes only together with the next one, such as the
// two parts of a wrapped secret, are empty.
func maskRows(s *Screen, mask func(text string) string) map[int]string {
	if mask == nil {
		return nil
	}
	rows := s.Rows()
	if all := strings.Join(rows, "\n"); mask(all) == all {
		return nil
	}
	masked := map[int]string{}
	for y, text := range rows {
		if m := mask(text); m != text {
			masked[y] = m
		}
	}
	for y := 1; y < len(rows); y++ {
		first, second := cmp.Or(masked[y-1], rows[y-1]), cmp.Or(masked[y], rows[y])
		if both := first + "\n" + second; mask(both) != both {
			masked[y-1], masked[y] = "", ""
		}
	}
	for y, text := range rows {
		if m, ok := masked[y]; ok {
			text = m
		}
		rows[y] = text
	}
	if all := strings.Join(rows, "\n"); mask(all) != all { // wrapped into more than two rows
		for y := range rows {
			masked[y] = ""
		}
	}
	return masked
}

// appendText appends the part of text that fits into cols columns.
func appendText(b []byte, text string, cols int) []byte {
	for _, r := range text {
		if cols -= runeWidth(r); cols < 0 {
			break
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// Version returns the number of the current version; zero before the first Update.
func (d *Drawing) Version() uint64 { return d.version }

// Size returns the columns and rows of the screen.
func (d *Drawing) Size() (cols, rows int) { return d.cols, d.rows }

// Resized reports whether the size has changed after version since.
func (d *Drawing) Resized(since uint64) bool { return d.resized > since }

// Frame appends to b the output that brings a terminal of the drawing's size from version since to the current version. For
// since zero, and after a change of the size, it draws everything, whatever the terminal shows. It appends nothing if the
// terminal shows the current version.
func (d *Drawing) Frame(b []byte, since uint64) []byte {
	if since == d.version {
		return b
	}
	b = append(b, "\x1b[?25l"...)
	all := since == 0 || d.resized > since
	switch {
	case since == 0:
		b = append(append(b, RendererBegin...), "\x1b[?25l\x1b[r\x1b[H\x1b[2J"...)
	case all:
		b = append(b, "\x1b[m\x1b[r\x1b[H\x1b[2J"...)
	}
	for y := range d.drawn {
		if all || d.drawn[y].version > since {
			b = append(append(appendMove(b, 0, y), "\x1b[m\x1b[K"...), d.drawn[y].text...)
		}
	}
	if all || d.status.version > since {
		b = append(b, d.status.text...)
	}
	return append(b, d.cursor...)
}
