package vt

import "bytes"

// Renderer draws a screen on a terminal, which may have another size. Each frame contains only the changes since the last
// one. The zero value is ready for use. A Renderer is for one terminal and one goroutine.
//
// The terminal gets the program's screen, cropped to the terminal's size, and never the program's own output. Therefore it
// gets no queries of the program.
type Renderer struct {
	begun      bool
	cols, rows int
	shown      [][]byte // what each row was drawn with
	title      string
	modes      Modes
	cursor     Cursor
	buf        []byte
}

// Frame returns the bytes that update the terminal from the previous frame to the current screen. The first call draws the
// whole screen. The result is nil if nothing has changed. If the terminal has fewer rows than the screen, it shows the
// part with the cursor. cols and rows are the terminal's size.
func (r *Renderer) Frame(s *Screen, cols, rows int) []byte {
	b := r.buf[:0]
	if !r.begun || cols != r.cols || rows != r.rows {
		b = append(b, "\x1b[m\x1b[r\x1b[H\x1b[2J"...)
		r.shown, r.cols, r.rows = make([][]byte, rows), cols, rows
	}
	top := max(0, min(s.cy-rows+1, s.rows-rows))
	start := len(b)
	for y := range rows {
		b = r.row(b, s, y, top+y)
	}
	b = s.appendInputModes(b, r.modes)
	if s.title != r.title {
		b = appendTitle(b, s.title)
	}
	cursor := s.Cursor()
	cursor.X, cursor.Y = min(cursor.X, cols-1), min(max(cursor.Y-top, 0), rows-1)
	if len(b) > start || cursor != r.cursor || !r.begun {
		b = appendMove(b, cursor.X, cursor.Y)
		if cursor.Visible {
			b = append(b, "\x1b[?25h"...)
		}
		if cursor.Shape != r.cursor.Shape {
			b = appendShape(b, cursor.Shape)
		}
	}
	r.begun, r.cursor, r.modes, r.title, r.buf = true, cursor, s.modes, s.title, b
	if len(b) == 0 {
		return nil
	}
	return append([]byte("\x1b[?25l"), b...)
}

// row draws the row screenRow of the screen as row y of the terminal, if it changed.
func (r *Renderer) row(b []byte, s *Screen, y, screenRow int) []byte {
	mark := len(b)
	b = append(appendMove(b, 0, y), "\x1b[m\x1b[K"...) // behind a full row it would erase the last column
	body := len(b)
	if screenRow < s.rows {
		b = s.appendRow(b, screenRow, r.cols)
	}
	if bytes.Equal(b[body:], r.shown[y]) {
		return b[:mark]
	}
	r.shown[y] = bytes.Clone(b[body:])
	return b
}

// appendRow draws the first cols cells of row y from the left, beginning with a
// plain pen.
func (s *Screen) appendRow(b []byte, y, cols int) []byte {
	row := withoutErased(s.grid.row(y)[:min(int(s.grid.lines[y].extent), cols)])
	var pen cell
	for x := range row {
		c := &row[x]
		if c.isPad() {
			continue
		}
		if !c.sameStyle(&pen) {
			b = s.appendPen(b, &pen, c)
			pen = *c
		}
		if c.isWide() && x+1 >= cols {
			b = append(b, ' ')
			continue
		}
		b = s.appendText(b, c)
	}
	return s.appendPen(b, &pen, &cell{})
}

// appendInputModes appends the sequences that change the modes from old to those of s, as far as they change the input that the
// terminal sends.
func (s *Screen) appendInputModes(b []byte, old Modes) []byte {
	m := s.modes
	for _, n := range [...]int{2004, 1, 1004} {
		if on := *m.flag(n); on != *old.flag(n) {
			b = appendMode(b, n, on)
		}
	}
	if m.AppKeypad != old.AppKeypad {
		if m.AppKeypad {
			b = append(b, "\x1b="...)
		} else {
			b = append(b, "\x1b>"...)
		}
	}
	b = changeMode(b, int(old.Mouse), int(m.Mouse))
	b = changeMode(b, int(old.MouseEncoding), int(m.MouseEncoding))
	return b
}

// RendererBegin is the output to send to a terminal of unknown state before the first frame of a [Renderer], for example to a
// terminal that has shown frames of another Renderer. It resets what a frame relies on, and the title.
const RendererBegin = RendererEnd + "\x1b[?1049l\x1b[4l\x1b[?6l\x1b[?7h\x1b(B\x0f\x1b]2;\x1b\\"

// RendererEnd is the output to send to a terminal after the last frame of a [Renderer]. It resets every mode that a frame may
// have set.
const RendererEnd = "\x1b[m" + modesOff + "\x1b[0 q\x1b[?25h"

// modesOff resets the modes that appendInputModes may set.
const modesOff = "\x1b[?2004l\x1b[?1l\x1b[?1004l\x1b[?9;1000;1002;1003l\x1b[?1005;1006;1015l\x1b>"
