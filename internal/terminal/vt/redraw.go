package vt

import "strconv"

// Redraw returns bytes that make a terminal of the same size look and behave like s: both
// screens, cursor, modes, title, scroll region, tab stops. It starts by clearing, so the
// terminal need not be fresh, but it does not undo modes that s has not set. It ends with
// the unfinished sequence or character that the output so far ended with, so that later
// output may follow. Scrollback and the title stack are not part of it.
func (s *Screen) Redraw() []byte {
	b := []byte("\x1b[m\x1b[H\x1b[J")
	if s.modes.AltScreen {
		b = s.paint(b, s.main)
		b = appendMove(b, s.beforeAlt.x, s.beforeAlt.y)
		b = s.setPen(b, &s.beforeAlt.pen)
		if s.hasBefore {
			b = append(b, "\x1b[?1049h"...)
		} else {
			b = append(b, "\x1b[?47h"...)
		}
		b = append(b, "\x1b[m\x1b]8;;\x1b\\\x1b[H"...)
	}
	b = s.paint(b, s.grid)
	b = s.redrawTabs(b)
	b = s.redrawSaved(b)
	b = s.redrawCursor(b)
	b = s.redrawModes(b)
	if s.title != "" {
		b = appendTitle(b, s.title)
	}
	if !s.seq.isGround() {
		b = append(b, s.pending...)
	}
	return append(b, s.utf8.buf[:s.utf8.collected()]...)
}

// paint draws the cells of g. The pen is plain before and after.
func (s *Screen) paint(b []byte, g *grid) []byte {
	var pen cell
	for y := range g.rows {
		row := withoutErased(g.row(y)[:g.lines[y].extent])
		at := -1 // column of the terminal's cursor on this row
		for x := range row {
			c := &row[x]
			if c.isPad() || *c == (cell{}) {
				continue
			}
			if at != x {
				b = appendMove(b, x, y)
			}
			if !c.sameStyle(&pen) {
				b = s.appendPen(b, &pen, c)
				pen = *c
			}
			b = s.appendText(b, c)
			at = x + 1
			if c.isWide() {
				at++
			}
		}
	}
	return s.appendPen(b, &pen, &cell{})
}

// appendPen appends the sequence that changes the pen from the style of from to the style of to.
func (s *Screen) appendPen(b []byte, from, to *cell) []byte {
	old, e := s.extraOf(from.attr), s.extraOf(to.attr)
	if old.link != e.link || old.id != e.id {
		b = append(b, "\x1b]8;"...)
		if e.id != "" {
			b = append(append(b, "id="...), e.id...)
		}
		b = append(append(append(b, ';'), e.link...), "\x1b\\"...)
	}
	if from.fg == to.fg && from.bg == to.bg && (from.attr^to.attr)&styleMask == 0 && old.underline == e.underline {
		return b
	}
	b = append(b, "\x1b[0"...)
	b = s.appendSGR(b, to)
	return append(b, 'm')
}

// setPen appends the sequence that sets the pen to c's style, whatever the previous pen is.
func (s *Screen) setPen(b []byte, c *cell) []byte {
	b = append(b, "\x1b[m"...)
	return s.appendPen(b, &cell{}, c)
}

// appendSGR appends the parameters of c's style, each after a semicolon.
func (s *Screen) appendSGR(b []byte, c *cell) []byte {
	for i, n := range [...]string{"1", "2", "3", "5", "7", "8", "9", "53"} {
		if c.attr>>i&1 != 0 {
			b = append(append(b, ';'), n...)
		}
	}
	if u := int(c.attr & underlineMask >> underlineShift); u != 0 {
		b = append(b, ";4:"...)
		b = strconv.AppendInt(b, int64(u), 10)
	}
	b = appendColorSGR(b, c.fg, 38)
	b = appendColorSGR(b, c.bg, 48)
	return appendColorSGR(b, s.extraOf(c.attr).underline, 58)
}

// appendColorSGR appends the SGR parameters of a color. code is 38 for the foreground, 48 for the
// background and 58 for the underline.
func appendColorSGR(b []byte, c Color, code int) []byte {
	if i, ok := c.Index(); ok {
		switch {
		case i < 8 && code != 58:
			return strconv.AppendInt(append(b, ';'), int64(code-8+int(i)), 10)
		case i < 16 && code != 58:
			return strconv.AppendInt(append(b, ';'), int64(code+52+int(i)-8), 10)
		}
		b = strconv.AppendInt(append(b, ';'), int64(code), 10)
		return strconv.AppendInt(append(b, ";5;"...), int64(i), 10)
	}
	if rgb, ok := c.RGB(); ok {
		b = strconv.AppendInt(append(b, ';'), int64(code), 10)
		b = append(b, ";2"...)
		for _, v := range rgb {
			b = strconv.AppendInt(append(b, ';'), int64(v), 10)
		}
	}
	return b
}

// appendMove appends the sequence that moves the cursor to column x and row y, both counted from 0.
func appendMove(b []byte, x, y int) []byte {
	b = strconv.AppendInt(append(b, "\x1b["...), int64(y+1), 10)
	b = strconv.AppendInt(append(b, ';'), int64(x+1), 10)
	return append(b, 'H')
}

// appendMode appends the sequence that sets or resets private mode n.
func appendMode(b []byte, n int, on bool) []byte {
	b = strconv.AppendInt(append(b, "\x1b[?"...), int64(n), 10)
	if on {
		return append(b, 'h')
	}
	return append(b, 'l')
}

// changeMode appends the sequences that reset one private mode and set another one; 0 is none.
func changeMode(b []byte, from, to int) []byte {
	if from != to && from != 0 {
		b = appendMode(b, from, false)
	}
	if from != to && to != 0 {
		b = appendMode(b, to, true)
	}
	return b
}

// appendShape appends the sequence that sets the look of the cursor.
func appendShape(b []byte, shape CursorShape) []byte {
	return append(append(b, "\x1b["...), '0'+byte(shape), ' ', 'q')
}

// appendTitle appends the sequence that sets the title.
func appendTitle(b []byte, title string) []byte {
	return append(append(append(b, "\x1b]2;"...), title...), "\x1b\\"...)
}

// redrawTabs sets the tab stops when they are not the usual ones.
func (s *Screen) redrawTabs(b []byte) []byte {
	usual := true
	for x, set := range s.tabs {
		usual = usual && set == (x > 0 && x%8 == 0)
	}
	if usual {
		return b
	}
	b = append(b, "\x1b[3g"...)
	for x, set := range s.tabs {
		if set {
			b = append(appendMove(b, x, 0), "\x1bH"...)
		}
	}
	return b
}

// redrawSaved appends the sequences after which a terminal has the same saved cursor (DECSC) as this screen.
func (s *Screen) redrawSaved(b []byte) []byte {
	if s.saved == (savedCursor{}) {
		return b
	}
	if s.saved.origin {
		b = append(b, "\x1b[?6h"...)
	}
	b = appendMove(b, s.saved.x, s.saved.y)
	b = s.setPen(b, &s.saved.pen)
	b = appendCharset(b, s.saved.charset)
	b = append(b, "\x1b7"...)
	if s.saved.origin {
		b = append(b, "\x1b[?6l"...)
	}
	if s.saved.charset != (charset{}) {
		b = append(b, "\x1b(B\x1b)B\x0f"...)
	}
	return append(b, "\x1b[m\x1b]8;;\x1b\\"...)
}

// appendCharset appends the sequences that select a character set.
func appendCharset(b []byte, c charset) []byte {
	if c.graphics[0] {
		b = append(b, "\x1b(0"...)
	}
	if c.graphics[1] {
		b = append(b, "\x1b)0"...)
	}
	if c.shift != 0 {
		b = append(b, 0x0e)
	}
	return b
}

// redrawCursor appends the sequences that restore the cursor, the scroll region, the origin mode, the
// text attributes and the character set. If the next character would wrap, it prints the last column
// again, because no sequence restores that state. If the cursor is outside the scroll region in origin
// mode, it saves and restores the cursor, which overwrites the cursor that the program has saved.
func (s *Screen) redrawCursor(b []byte) []byte {
	x := min(s.cx, s.cols-1)
	row := s.grid.row(s.cy)
	if s.cx >= s.cols && row[x].isPad() {
		x--
	}
	region := s.top != 0 || s.bottom != s.rows-1
	outside := s.modes.Origin && (s.cy < s.top || s.cy > s.bottom)
	if outside {
		b = append(appendMove(append(b, "\x1b[?6h"...), x, s.cy), "\x1b7"...)
	}
	if region {
		b = strconv.AppendInt(append(b, "\x1b["...), int64(s.top+1), 10)
		b = strconv.AppendInt(append(b, ';'), int64(s.bottom+1), 10)
		b = append(b, 'r')
	}
	switch {
	case outside:
		b = append(b, "\x1b8"...)
	case s.modes.Origin:
		b = appendMove(append(b, "\x1b[?6h"...), x, s.cy-s.top)
	default:
		b = appendMove(b, x, s.cy)
	}
	var pen cell
	if s.cx >= s.cols {
		b = s.appendPen(b, &pen, &row[x])
		b = s.appendText(b, &row[x])
		pen = row[x]
	}
	b = s.appendPen(b, &pen, &s.pen)
	return appendCharset(b, s.charset)
}

// redrawModes sets the modes that differ from the initial ones.
func (s *Screen) redrawModes(b []byte) []byte {
	m := s.modes
	set := func(on bool, seq string) {
		if on {
			b = append(b, seq...)
		}
	}
	b = s.appendInputModes(b, Modes{})
	set(m.Synchronized, "\x1b[?2026h")
	set(m.ThemeUpdates, "\x1b[?2031h")
	set(!m.AutoWrap, "\x1b[?7l")
	set(m.Insert, "\x1b[4h")
	set(m.NewLine, "\x1b[20h")
	set(!m.CursorVisible, "\x1b[?25l")
	if m.ModifyOtherKeys != 0 {
		b = append(b, "\x1b[>4;"...)
		b = append(b, '0'+m.ModifyOtherKeys, 'm')
	}
	if f := s.kittyStack().flags(); f != 0 {
		b = strconv.AppendInt(append(b, "\x1b[="...), int64(f), 10)
		b = append(b, ";1u"...)
	}
	if s.cursor != 0 {
		b = appendShape(b, s.cursor)
	}
	return b
}
