package vt

import (
	"bytes"
	"unicode/utf8"
)

// maxPending is how much of an unfinished sequence [Screen.Redraw] can repeat.
const maxPending = 4 << 10

// Write feeds program output to the screen. Any bytes are accepted; a sequence or
// character that is cut by the end of p goes on in the next call. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if !s.seq.isGround() {
			if n := s.seq.bulk(p[i:]); n > 0 {
				s.pending = append(s.pending, p[i:i+max(0, min(n, maxPending-len(s.pending)))]...)
				i += n
				continue
			}
			b := p[i]
			i++
			a := s.seq.advance(b)
			if a != actControl && len(s.pending) < maxPending {
				s.pending = append(s.pending, b)
			}
			s.act(a, b)
			continue
		}
		i += s.text(p[i:])
	}
	if s.full() {
		s.sweep()
	}
	return len(p), nil
}

// act executes what the parser has recognized: a control character, or a complete sequence.
func (s *Screen) act(a action, b byte) {
	switch a {
	case actControl:
		s.control(b)
		return
	case actNone:
		return
	case actESC:
		s.esc()
	case actCSI:
		s.csi()
	case actOSC:
		s.osc(s.seq.str)
	case actDCS:
		s.dcs()
	}
	s.last = lastChar{}
}

// text handles the bytes at the beginning of p that belong to no escape sequence begun before: printable text, a
// control character, or the start of a sequence. It returns how many bytes it has handled.
func (s *Screen) text(p []byte) int {
	b := p[0]
	switch {
	case b >= 0x20 && b < 0x7f:
		s.utf8.need = 0
		n := 1
		for n < len(p) && p[n]-0x20 < 0x5f {
			n++
		}
		s.printASCII(p[:n])
		return n
	case b == 0x1b:
		s.utf8.need = 0
		return s.escape(p)
	case b < 0x80:
		s.utf8.need = 0
		if b != 0x7f {
			s.control(b)
		}
		return 1
	}
	if s.utf8.need == 0 {
		if r, n := utf8.DecodeRune(p); r != utf8.RuneError || n > 1 {
			s.printRune(r)
			return n
		}
	}
	s.highByte(b)
	return 1
}

// escape handles ESC at ground: a whole simple control sequence at once, or its start.
func (s *Screen) escape(p []byte) int {
	if len(p) > 2 && p[1] == '[' {
		if n := s.seq.scanCSI(p[2:]); n > 0 {
			s.csi()
			s.last = lastChar{}
			return n + 2
		}
	}
	s.seq.start()
	s.pending = append(s.pending[:0], 0x1b)
	return 1
}

// printASCII prints characters 0x20-0x7e.
func (s *Screen) printASCII(p []byte) {
	s.last = lastChar{r: rune(p[len(p)-1]), ok: true}
	for len(p) > 0 {
		if s.cx >= s.cols {
			s.wrap()
		}
		n := min(len(p), s.cols-s.cx)
		if n < len(p) && !s.modes.AutoWrap {
			// The last column is overwritten again and again: the last character stays.
			n = s.cols - s.cx
			s.put(p[:n])
			s.cx = s.cols - 1
			s.put(p[len(p)-1:])
			p = nil
		} else {
			s.put(p[:n])
			p = p[n:]
		}
		if s.cx >= s.cols && !s.modes.AutoWrap {
			s.cx = s.cols - 1
		}
	}
}

// put writes ASCII characters at the cursor and moves the cursor behind them. The caller has checked that they fit into
// the row.
func (s *Screen) put(p []byte) {
	g, x := s.grid, s.cx
	end := x + len(p)
	if s.modes.Insert {
		g.insertCells(s.cy, x, len(p), 0)
	}
	row := g.row(s.cy)
	g.splitWide(row, x)
	g.splitWide(row, end)
	pen := s.pen
	cells := row[x:end]
	if s.graphics() {
		for i, b := range p {
			pen.ch = graphicsChar(b)
			cells[i] = pen
		}
	} else {
		for i, b := range p {
			pen.ch = uint32(b)
			cells[i] = pen
		}
	}
	g.lines[s.cy].print(end)
	s.cx = end
}

// wrap starts a new row for text that does not fit: the row is marked as going on.
func (s *Screen) wrap() {
	if !s.modes.AutoWrap {
		s.cx = s.cols - 1
		return
	}
	s.grid.lines[s.cy].wrapped = true
	s.index(0)
	s.cx = 0
}

// printRune prints a character that is not ASCII.
func (s *Screen) printRune(r rune) {
	if r >= 0x80 && r < 0xa0 {
		return
	}
	joined := s.last.joiner
	if r == zeroWidthJoiner { // joins what follows, if anything does
		s.last = lastChar{r: r, joiner: s.cx > 0}
		return
	}
	w := runeWidth(r)
	s.last = lastChar{r: r, ok: true}
	if w == 0 || joined && s.cx > 0 {
		s.combine(r, joined)
		return
	}
	s.printWide(uint32(r), w)
}

// printWide prints one character of one or two columns.
func (s *Screen) printWide(ch uint32, w int) {
	if !s.modes.AutoWrap && w > 1 && (w > s.cols || s.cx != s.cols && s.cx > s.cols-w) {
		return
	}
	if s.modes.Insert && s.cx < s.cols {
		s.grid.insertCells(s.cy, s.cx, w, 0)
	}
	if s.cx > s.cols-w {
		s.wrap()
	}
	if s.cx > s.cols-w {
		return // a wide character on a screen of one column
	}
	g := s.grid
	row := g.row(s.cy)
	g.splitWide(row, s.cx)
	g.splitWide(row, s.cx+w)
	c := s.pen
	c.ch = ch
	if w == 2 {
		pad := s.pen
		c.attr |= shapeWide
		pad.attr |= shapePad
		row[s.cx+1] = pad
	}
	row[s.cx] = c
	g.lines[s.cy].print(s.cx + w)
	s.cx += w
	if s.cx >= s.cols && !s.modes.AutoWrap {
		s.cx = s.cols - 1
	}
}

const (
	zeroWidthJoiner = 0x200d
	maxClusterSize  = 64 // bytes; what would make a character longer is dropped
)

// combine adds r to the character before the cursor. With nothing before it, it is dropped.
func (s *Screen) combine(r rune, joined bool) {
	x := s.cx - 1
	if x < 0 {
		return
	}
	row := s.grid.row(s.cy)
	if row[x].isPad() && x > 0 {
		x--
	}
	c := &row[x]
	buf := s.appendText(s.scratch[:0], c)
	if joined {
		buf = utf8.AppendRune(buf, zeroWidthJoiner)
	}
	buf = utf8.AppendRune(buf, r)
	s.scratch = buf[:0]
	if len(buf) <= maxClusterSize {
		c.ch = s.cluster(buf)
		s.grid.lines[s.cy].print(s.cx)
	}
}

// graphics reports whether the active character set is DEC special graphics.
func (s *Screen) graphics() bool { return s.charset.graphics[s.charset.shift] }

// graphicsSet are the DEC special graphics for bytes 0x60 to 0x7e.
var graphicsSet = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// SpecialGraphics returns the character that a program prints with b while the DEC special graphics set is active, for example
// a horizontal line for 'q'.
func SpecialGraphics(b byte) rune { return rune(graphicsChar(b)) }

// graphicsChar maps an ASCII character to the DEC special graphics set.
func graphicsChar(b byte) uint32 {
	if b < 0x60 || b > 0x7e {
		return uint32(b)
	}
	return uint32(graphicsSet[b-0x60])
}

// control executes a C0 control character.
func (s *Screen) control(b byte) {
	s.last = lastChar{}
	switch b {
	case '\b':
		s.backspace()
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.index(s.pen.bg)
		if s.modes.NewLine {
			s.cx = 0
		}
	case '\r':
		s.cx = 0
	case 0x0e:
		s.charset.shift = 1
	case 0x0f:
		s.charset.shift = 0
	}
}

// repeat prints the last character n times more, up to the end of the row (REP).
func (s *Screen) repeat(n int) {
	n = min(n, s.cols-s.cx)
	if !s.last.ok || n <= 0 {
		return
	}
	if s.last.r < 0x80 {
		s.printASCII(bytes.Repeat([]byte{byte(s.last.r)}, n))
		return
	}
	for r := s.last.r; n > 0; n-- {
		s.printRune(r)
	}
}
