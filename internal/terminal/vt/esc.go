package vt

// esc executes the escape sequence that was parsed. Unknown ones are ignored.
func (s *Screen) esc() {
	q := &s.seq
	switch {
	case q.inters > 1:
	case q.inter == '(' || q.inter == ')':
		set := int(q.inter - '(')
		switch q.final {
		case '0':
			s.charset.graphics[set] = true
		case 'B':
			s.charset.graphics[set] = false
		}
	case q.inter == '#' && q.final == '8':
		s.alignmentTest()
	case q.inter == 0:
		s.escPlain()
	}
}

// escPlain handles an escape sequence without intermediate bytes: ESC and one final byte.
func (s *Screen) escPlain() {
	switch s.seq.final {
	case '7':
		s.saveCursor()
	case '8':
		s.restoreCursor()
	case '=':
		s.modes.AppKeypad = true
	case '>':
		s.modes.AppKeypad = false
	case 'D':
		s.index(s.pen.bg)
	case 'E':
		s.cx = 0
		s.index(s.pen.bg)
	case 'H':
		if s.cx < s.cols {
			s.tabs[s.cx] = true
		}
	case 'M':
		s.reverseIndex()
	case 'Z':
		s.deviceAttributes()
	case 'c':
		s.reset()
	}
}
