package vt

// csi executes the control sequence that was parsed. Unknown ones are ignored.
func (s *Screen) csi() {
	q := &s.seq
	if q.inters > 1 {
		return
	}
	switch {
	case q.inter != 0:
		s.csiIntermediate()
	case q.prefix == 0:
		s.csiPlain()
	case q.prefix == '?':
		s.csiPrivate()
	case q.prefix == '>':
		s.csiGreater()
	case q.final == 'u':
		s.kittyKeyboard()
	case q.prefix == '=' && q.final == 'c':
		s.deviceAttributes3()
	}
}

// csiPlain executes a sequence without prefix or intermediate.
func (s *Screen) csiPlain() {
	switch s.seq.final {
	case 'm':
		s.sgr()
		return
	case 'h', 'l':
		s.eachParam(func(n int) { s.setMode(n, s.seq.final == 'h') })
		return
	case 'H', 'f':
		y, ok1 := s.count(0)
		x, ok2 := s.count(1)
		if ok1 && ok2 {
			s.moveTo(x-1, y-1)
		}
		return
	case 'r':
		s.decstbm()
		return
	case 's':
		s.saveCursor()
		return
	case 'u':
		s.restoreCursor()
		return
	case 't':
		s.windowOps()
		return
	case 'J', 'K', 'g', 'c', 'n':
		if n, ok := s.seq.params.get(0, 0); ok {
			s.csiSelect(n)
		}
		return
	}
	if n, ok := s.count(0); ok && !s.csiMove(n) {
		s.csiEdit(n)
	}
}

// count returns parameter i, at least 1.
func (s *Screen) count(i int) (int, bool) {
	n, ok := s.seq.params.get(i, 1)
	return max(n, 1), ok
}

// eachParam calls f for each valid parameter of the sequence. A missing one counts as -1 and is
// skipped.
func (s *Screen) eachParam(f func(n int)) {
	for i := range s.seq.params.n {
		if n, ok := s.seq.params.get(i, -1); ok && n >= 0 {
			f(n)
		}
	}
}

// csiSelect executes the control sequences that erase, clear tab stops or ask for a status. n is the parameter that
// selects what.
func (s *Screen) csiSelect(n int) {
	switch s.seq.final {
	case 'J':
		s.eraseDisplay(n)
	case 'K':
		s.eraseLine(n)
	case 'g':
		s.clearTabs(n)
	case 'c':
		if n == 0 {
			s.deviceAttributes()
		}
	case 'n':
		s.deviceStatus(n)
	}
}

// csiMove executes cursor moves and reports whether it was one.
func (s *Screen) csiMove(n int) bool {
	switch s.seq.final {
	case 'A', 'k':
		s.moveUp(n)
	case 'B', 'e':
		s.moveDown(n)
	case 'C', 'a':
		s.moveRight(n)
	case 'D', 'j':
		s.moveLeft(n)
	case 'E':
		s.cx = 0
		s.moveDown(n)
	case 'F':
		s.cx = 0
		s.moveUp(n)
	case 'G', '`':
		s.moveToColumn(n - 1)
	case 'd':
		s.moveToRow(n - 1)
	case 'I':
		s.tab(n)
	case 'Z':
		s.backTab(n)
	default:
		return false
	}
	return true
}

// csiEdit executes sequences that change cells.
func (s *Screen) csiEdit(n int) {
	switch s.seq.final {
	case '@':
		s.insertChars(n)
	case 'P':
		s.deleteChars(n)
	case 'X':
		s.eraseChars(n)
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'S':
		s.scrollUp(n, s.pen.bg)
	case 'T':
		if s.seq.params.n <= 1 { // more: xterm's mouse tracking
			s.scrollDown(n)
		}
	case 'b':
		s.repeat(n)
	}
}

// csiPrivate executes control sequences with the prefix "?": private modes and queries about them.
func (s *Screen) csiPrivate() {
	switch s.seq.final {
	case 'h', 'l':
		s.eachParam(func(n int) { s.setPrivateMode(n, s.seq.final == 'h') })
	case 'n':
		if n, ok := s.seq.params.get(0, 0); ok {
			s.privateStatus(n)
		}
	case 'u':
		s.kittyKeyboard()
	case 'J', 'K': // selective erase: nothing is protected
		s.csiPlain()
	}
}

// csiGreater executes control sequences with the prefix ">": queries for attributes and version, and settings for the
// encoding of keys.
func (s *Screen) csiGreater() {
	n, ok := s.seq.params.get(0, 0)
	if !ok {
		return
	}
	switch s.seq.final {
	case 'c':
		if n == 0 {
			s.deviceAttributes2()
		}
	case 'q':
		if n == 0 {
			s.terminalVersion()
		}
	case 'm':
		if v, ok := s.seq.params.get(1, 0); ok && n == 4 {
			s.modes.ModifyOtherKeys = uint8(min(v, 2))
		}
	case 'n':
		if n == 4 {
			s.modes.ModifyOtherKeys = 0
		}
	case 'u':
		s.kittyKeyboard()
	}
}

// csiIntermediate executes sequences with one intermediate.
func (s *Screen) csiIntermediate() {
	q := &s.seq
	n, ok := q.params.get(0, 0)
	switch {
	case !ok:
	case q.inter == ' ' && q.final == 'q' && q.prefix == 0:
		if n <= maxCursorShape {
			s.cursor = CursorShape(n)
		}
	case q.inter == '!' && q.final == 'p' && q.prefix == 0:
		s.softReset()
	case q.inter == '$' && q.final == 'p':
		s.reportMode(n)
	}
}

// decstbm sets the scroll region to the rows that the sequence names (DECSTBM).
func (s *Screen) decstbm() {
	top, ok1 := s.count(0)
	bottom, ok2 := s.seq.params.get(1, s.rows)
	if ok1 && ok2 {
		s.setMargins(top-1, max(bottom, 1)-1)
	}
}

// clearTabs removes the tab stop of the cursor's column for 0, and all tab stops for 3.
func (s *Screen) clearTabs(n int) {
	switch n {
	case 0:
		if s.cx < s.cols {
			s.tabs[s.cx] = false
		}
	case 3:
		clear(s.tabs)
	}
}
