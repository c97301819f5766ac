package vt

// eraseScreen is ED 2. On the main screen what was written moves to the scrollback, as
// tmux does, so that a program that repaints from scratch loses nothing.
func (s *Screen) eraseScreen() {
	if !s.modes.AltScreen && s.history.limit > 0 {
		last := 0
		for y, l := range s.grid.lines {
			if l.used != 0 {
				last = y + 1
			}
		}
		for y := range last {
			s.pushToScrollback(y)
		}
		if last > 0 {
			s.scrolled = 0
		}
	}
	s.eraseRows(0, s.rows, s.pen.bg)
}

// eraseRows makes rows [from, to) fresh. No text goes on into them any more.
func (s *Screen) eraseRows(from, to int, bg Color) {
	for y := from; y < to; y++ {
		s.grid.clearLine(y, bg)
	}
	if from < to {
		s.endBefore(from)
	}
}

// endBefore ends the text of the row above y, which may be in the scrollback.
func (s *Screen) endBefore(y int) {
	switch {
	case y > 0:
		s.grid.lines[y-1].wrapped = false
	case !s.modes.AltScreen:
		s.history.endLast()
	}
}

// eraseCells erases columns [from, to) of the cursor's row.
func (s *Screen) eraseCells(from, to int) {
	from, to = min(from, s.cols), min(to, s.cols)
	if from == 0 && to == s.cols {
		s.eraseRows(s.cy, s.cy+1, s.pen.bg)
		return
	}
	s.grid.erase(s.cy, from, to, s.pen.bg)
}

// eraseDisplay is ED.
func (s *Screen) eraseDisplay(what int) {
	switch what {
	case 0:
		if s.cx == 0 && s.cy == 0 {
			s.eraseScreen()
			return
		}
		s.eraseCells(s.cx, s.cols)
		s.eraseRows(s.cy+1, s.rows, s.pen.bg)
	case 1:
		s.eraseRows(0, s.cy, s.pen.bg)
		s.eraseCells(0, s.cx+1)
	case 2:
		s.eraseScreen()
	case 3:
		s.ClearScrollback()
	}
}

// eraseLine is EL.
func (s *Screen) eraseLine(what int) {
	switch what {
	case 0:
		s.eraseCells(s.cx, s.cols)
	case 1:
		s.eraseCells(0, s.cx+1)
	case 2:
		s.eraseCells(0, s.cols)
	}
}

// eraseChars is ECH.
func (s *Screen) eraseChars(n int) { s.eraseCells(s.cx, s.cx+n) }

// insertChars is ICH.
func (s *Screen) insertChars(n int) {
	if s.cx < s.cols {
		s.grid.insertCells(s.cy, s.cx, n, s.pen.bg)
	}
}

// deleteChars is DCH.
func (s *Screen) deleteChars(n int) {
	if s.cx < s.cols {
		s.grid.deleteCells(s.cy, s.cx, n, s.pen.bg)
	}
}

// lineBlock returns the last row that IL and DL move: that of the scroll region, or of
// the screen when the cursor is outside the region.
func (s *Screen) lineBlock() int {
	if s.cy < s.top || s.cy > s.bottom {
		return s.rows - 1
	}
	return s.bottom
}

// insertLines is IL.
func (s *Screen) insertLines(n int) {
	bottom := s.lineBlock()
	s.grid.scrollDown(s.cy, bottom, min(n, bottom-s.cy+1), s.pen.bg)
	s.endBefore(s.cy)
}

// deleteLines is DL. Deleted rows do not go to the scrollback.
func (s *Screen) deleteLines(n int) {
	bottom := s.lineBlock()
	s.grid.scrollUp(s.cy, bottom, min(n, bottom-s.cy+1), s.pen.bg)
	s.endBefore(s.cy)
}

// scrollDown is SD.
func (s *Screen) scrollDown(n int) {
	s.grid.scrollDown(s.top, s.bottom, min(n, s.bottom-s.top+1), s.pen.bg)
	s.endBefore(s.top)
}

// alignmentTest is DECALN: the screen full of E.
func (s *Screen) alignmentTest() {
	for y := range s.rows {
		row := s.grid.row(y)
		for x := range row {
			row[x] = cell{ch: 'E'}
		}
		s.grid.lines[y].print(s.cols)
	}
	s.top, s.bottom = 0, s.rows-1
	s.cx, s.cy = 0, 0
}
