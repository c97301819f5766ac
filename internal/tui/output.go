package tui

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"gascity/internal/terminal/vt"
)

// Colors is how many colors a terminal shows.
type Colors int

// The kinds of terminals. The zero value shows no color, only bold, dim, underlined and reversed text.
const (
	NoColors Colors = iota
	Colors16
	Colors256
	TrueColors
)

// cursor is the position of the terminal's cursor. It is hidden if on is false.
type cursor struct {
	x, y int
	on   bool
}

// output draws canvases on a terminal. It writes only the rows that have changed. After a character that is not ASCII
// it moves to the next column by its number, so that a terminal with other widths of characters draws no other column wrong.
type output struct {
	colors     Colors
	cols, rows int
	shown      [][]byte
	cursor     cursor
	begun      bool
	buf        []byte
}

const (
	// outputBegin enters the alternate screen with a hidden cursor and with reports of pasted text, of the mouse and of
	// the focus.
	outputBegin = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000;1006h\x1b[?1004h\x1b[m\x1b[H\x1b[2J"
	outputEnd   = "\x1b[m\x1b[?1004l\x1b[?1000;1006l\x1b[?2004l\x1b[?25h\x1b[?1049l"
	syncBegin   = "\x1b[?2026h\x1b[?25l"
	syncEnd     = "\x1b[?2026l"
)

// frame returns the bytes that bring the terminal from the last frame to this one; nil if nothing has changed.
func (o *output) frame(c *canvas, at cursor) []byte {
	if !o.begun || o.cols != c.cols || o.rows != c.rows {
		o.shown, o.cols, o.rows = make([][]byte, c.rows), c.cols, c.rows
	}
	b := o.buf[:0]
	b = append(b, syncBegin...)
	head := len(b)
	for y := range c.rows {
		mark := len(b)
		b = append(appendMove(b, 0, y), "\x1b[m\x1b[K"...)
		body := len(b)
		b = o.appendRow(b, c.row(y))
		if o.shown[y] != nil && bytes.Equal(b[body:], o.shown[y]) {
			b = b[:mark]
			continue
		}
		o.shown[y] = append(make([]byte, 0, len(b)-body+1), b[body:]...)
	}
	if len(b) == head && o.begun && at == o.cursor {
		o.buf = b
		return nil
	}
	o.begun, o.cursor = true, at
	b = append(b, "\x1b[m"...)
	if at.on {
		b = append(appendMove(b, at.x, at.y), "\x1b[?25h"...)
	}
	b = append(b, syncEnd...)
	o.buf = b
	return b
}

// reset makes the next frame a full one.
func (o *output) reset() { o.begun, o.shown = false, nil }

func (o *output) appendRow(b []byte, row []cell) []byte {
	n := len(row)
	for n > 0 && row[n-1] == (cell{}) {
		n--
	}
	var pen style
	for x := 0; x < n; x++ {
		c := &row[x]
		if c.right {
			continue
		}
		if c.style != pen {
			b = o.appendPen(b, c.style)
			pen = c.style
		}
		switch {
		case c.text == "":
			b = append(b, ' ')
		case c.text[0] < utf8.RuneSelf && len(c.text) == 1:
			b = append(b, c.text[0])
		default:
			b = append(b, c.text...)
			if next := x + 1; next < n {
				if row[next].right {
					next++
				}
				b = append(strconv.AppendInt(append(b, "\x1b["...), int64(next+1), 10), 'G')
			}
		}
	}
	return b
}

// appendMove appends the sequence that moves the cursor to a column and a row, both counted from 0.
func appendMove(b []byte, x, y int) []byte {
	b = strconv.AppendInt(append(b, "\x1b["...), int64(y+1), 10)
	b = strconv.AppendInt(append(b, ';'), int64(x+1), 10)
	return append(b, 'H')
}

// appendPen appends the sequence that sets a style.
func (o *output) appendPen(b []byte, s style) []byte {
	b = append(b, "\x1b[0"...)
	for _, a := range [...]struct {
		attr vt.Attr
		code string
	}{{vt.Bold, ";1"}, {vt.Dim, ";2"}, {vt.Italic, ";3"}, {vt.Reverse, ";7"}, {vt.Strikethrough, ";9"}} {
		if s.attr&a.attr != 0 {
			b = append(b, a.code...)
		}
	}
	if s.underline {
		b = append(b, ";4"...)
	}
	b = o.appendColor(b, s.fg, 30)
	b = o.appendColor(b, s.bg, 40)
	return append(b, 'm')
}

// appendColor appends the parameters of a color. base is 30 for the text and 40 for the background.
func (o *output) appendColor(b []byte, c vt.Color, base int) []byte {
	if c.IsDefault() || o.colors == NoColors {
		return b
	}
	i, indexed := c.Index()
	rgb, _ := c.RGB()
	if !indexed && o.colors == TrueColors {
		b = strconv.AppendInt(append(b, ';'), int64(base+8), 10)
		b = append(b, ";2"...)
		for _, v := range rgb {
			b = strconv.AppendInt(append(b, ';'), int64(v), 10)
		}
		return b
	}
	if !indexed {
		i = nearest256(rgb)
	}
	if i >= 16 && o.colors == Colors16 {
		i = nearest16(i)
	}
	switch {
	case i < 8:
		return strconv.AppendInt(append(b, ';'), int64(base)+int64(i), 10)
	case i < 16:
		return strconv.AppendInt(append(b, ';'), int64(base)+60+int64(i)-8, 10)
	}
	b = strconv.AppendInt(append(b, ';'), int64(base+8), 10)
	return strconv.AppendInt(append(b, ";5;"...), int64(i), 10)
}

// nearest256 returns the index of the color cube or of the gray ramp that is next to a color.
func nearest256(rgb [3]uint8) uint8 {
	lo, hi := min(rgb[0], rgb[1], rgb[2]), max(rgb[0], rgb[1], rgb[2])
	if hi-lo < 10 && lo >= 4 && hi <= 243 {
		return 232 + uint8((int(lo)+int(hi)-8)/20) //nolint:gosec // at most 255
	}
	n := 16
	for i, weight := range [...]int{36, 6, 1} {
		n += weight * cubeStep(rgb[i])
	}
	return uint8(n) //nolint:gosec // at most 231
}

// cubeStep returns the step of the color cube, 0 to 5, that is next to a value.
func cubeStep(v uint8) int {
	switch {
	case v < 48:
		return 0
	case v < 115:
		return 1
	}
	return (int(v) - 35) / 40
}

// nearest16 returns the basic color that is next to a color of the 256-color palette.
func nearest16(i uint8) uint8 {
	var r, g, b int
	if i >= 232 {
		r = (int(i) - 232) / 4
		g, b = r, r
	} else {
		n := int(i) - 16
		r, g, b = n/36, n/6%6, n%6
	}
	color := uint8(0)
	limit := max(1, (max(r, g, b)+1)/2)
	for bit, v := range [...]int{r, g, b} {
		if v >= limit {
			color |= 1 << bit
		}
	}
	if max(r, g, b) >= 4 {
		color += 8
	}
	return color
}
