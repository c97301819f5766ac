package tui

import (
	"strings"
	"unicode/utf8"

	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// style is how a cell is drawn. The zero value is plain text. Styles compare with ==.
type style struct {
	fg, bg    vt.Color
	attr      vt.Attr
	underline bool
}

// cell is one column of a canvas. The text of a blank is "", and so is that of the right half of a wide character.
type cell struct {
	text  string
	style style
	right bool // the right half of a wide character
}

// canvas is a rectangle of cells.
type canvas struct {
	cols, rows int
	cells      []cell
}

func newCanvas(cols, rows int) *canvas {
	return &canvas{cols: cols, rows: rows, cells: make([]cell, cols*rows)}
}

func (c *canvas) row(y int) []cell { return c.cells[y*c.cols : (y+1)*c.cols] }

// area is a part of a canvas. Nothing is drawn outside of it. Positions are relative to its top left corner.
type area struct {
	canvas     *canvas
	x, y, w, h int
}

// all returns the area of the whole canvas.
func (c *canvas) all() area { return area{c, 0, 0, c.cols, c.rows} }

// part returns an area inside a, cut at its edges.
func (a area) part(x, y, w, h int) area {
	x, y = max(0, x), max(0, y)
	return area{a.canvas, a.x + x, a.y + y, max(0, min(w, a.w-x)), max(0, min(h, a.h-y))}
}

// set draws one character of the given width. It reports whether there was room.
func (a area) set(x, y int, text string, width int, s style) bool {
	if x < 0 || y < 0 || y >= a.h || x+width > a.w {
		return false
	}
	row := a.canvas.row(a.y + y)
	at := a.x + x
	a.split(row, at)
	a.split(row, at+width)
	if text == " " {
		text = ""
	}
	row[at] = cell{text: text, style: s}
	if width == 2 {
		row[at+1] = cell{style: s, right: true}
	}
	return true
}

// split replaces a wide character whose halves are in the columns x-1 and x by blanks.
func (a area) split(row []cell, x int) {
	if x > 0 && x < len(row) && row[x].right {
		row[x-1].text, row[x].right = "", false
	}
}

// text draws one line of text from column x on, and returns the column behind it. What does not fit is cut.
func (a area) text(x, y int, text string, s style) int {
	if !printable(text) {
		text = textfmt.OneLine(text)
	}
	for _, r := range text {
		width := runeWidth(r)
		if width == 0 {
			a.combine(x, y, r)
			continue
		}
		if !a.set(x, y, string(r), width, s) {
			return x
		}
		x += width
	}
	return x
}

// combine adds a character without a width to the one before column x.
func (a area) combine(x, y int, r rune) {
	if y < 0 || y >= a.h || x <= 0 || x > a.w {
		return
	}
	row := a.canvas.row(a.y + y)
	at := a.x + x - 1
	if row[at].right && at > 0 {
		at--
	}
	if row[at].text != "" {
		row[at].text += string(r)
	}
}

// fit draws text in exactly width columns: a longer text ends in an ellipsis.
func (a area) fit(x, y, width int, text string, s style) {
	if width > 0 {
		a.part(x, y, width, 1).text(0, 0, shorten(text, width), s)
	}
}

// rightText draws text so that it ends before column end, and returns its first column.
func (a area) rightText(end, y int, text string, s style) int {
	x := end - textfmt.Width(text)
	a.text(x, y, text, s)
	return x
}

// lines draws lines of text from row y on, and returns the row behind them.
func (a area) lines(x, y int, lines []string, s style) int {
	for _, text := range lines {
		a.text(x, y, text, s)
		y++
	}
	return y
}

// fill fills a row with a character of one column; empty: with blanks.
func (a area) fill(y int, text string, s style) {
	for x := range a.w {
		a.set(x, y, text, 1, s)
	}
}

// highlight marks the first row as the selected one.
func (a area) highlight() {
	a.restyle(0, func(s style) style { return style{attr: s.attr&vt.Bold | vt.Reverse} })
}

// window returns the items from top on that fit into height rows.
func window[T any](items []T, top, height int) []T {
	return items[min(top, len(items)):min(top+height, len(items))]
}

// restyle changes the style of the cells of a row by a function.
func (a area) restyle(y int, change func(style) style) {
	if y < 0 || y >= a.h {
		return
	}
	row := a.canvas.row(a.y + y)[a.x : a.x+a.w]
	for i := range row {
		row[i].style = change(row[i].style)
	}
}

// screenRow draws cells of a screen model from column 0 of row y. Hidden text stays hidden.
func (a area) screenRow(y int, cells []vt.Cell) {
	for x, c := range cells {
		if c.Width == 0 {
			continue
		}
		s := style{fg: c.Style.FG, bg: c.Style.BG, attr: c.Style.Attr &^ vt.Conceal, underline: c.Style.Underline != vt.UnderlineNone}
		text := c.Text
		switch {
		case c.Style.Has(vt.Conceal):
			text = " "
		case !printable(text) && textfmt.OneLine(text) != text:
			text = string(utf8.RuneError)
		}
		if c.Width == 2 && x+1 >= a.w {
			text, c.Width = " ", 1
		}
		if !a.set(x, y, text, c.Width, s) {
			return
		}
	}
}

// printable reports whether text is printable ASCII.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// runeWidth returns the columns of a character: 0, 1 or 2.
func runeWidth(r rune) int {
	if r >= ' ' && r <= '~' {
		return 1
	}
	return textfmt.Width(string(r))
}

// textWidth returns the columns that [area.text] needs for a text.
func textWidth(text string) int {
	if printable(text) {
		return len(text)
	}
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// shorten returns text in at most width columns. A longer text ends in an ellipsis.
func shorten(text string, width int) string {
	if printable(text) && len(text) <= width {
		return text
	}
	text = textfmt.OneLine(text)
	if textWidth(text) <= width {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n += runeWidth(r); n > width-1 {
			break
		}
		b.WriteRune(r)
	}
	b.WriteString("…")
	return b.String()
}
