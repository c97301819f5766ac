package term

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
			s.keep(y)
		}
		if last > 0 {
			s.scrolled = 0
		}
	}
	for y := range s.rows {
		s.grid.clearLine(y, s.pen.bg)
	}
}

// eraseDisplay is ED.
func (s *Screen) eraseDisplay(what int) {
	bg := s.pen.bg
	switch what {
	case 0:
		if s.cx == 0 && s.cy == 0 {
			s.eraseScreen()
			return
		}
		s.grid.erase(s.cy, min(s.cx, s.cols), s.cols, bg)
		for y := s.cy + 1; y < s.rows; y++ {
			s.grid.clearLine(y, bg)
		}
	case 1:
		for y := range s.cy {
			s.grid.clearLine(y, bg)
		}
		s.grid.erase(s.cy, 0, min(s.cx+1, s.cols), bg)
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
		s.grid.erase(s.cy, min(s.cx, s.cols), s.cols, s.pen.bg)
	case 1:
		s.grid.erase(s.cy, 0, min(s.cx+1, s.cols), s.pen.bg)
	case 2:
		s.grid.erase(s.cy, 0, s.cols, s.pen.bg)
	}
}

// eraseChars is ECH.
func (s *Screen) eraseChars(n int) {
	s.grid.erase(s.cy, min(s.cx, s.cols), min(s.cx+n, s.cols), s.pen.bg)
}

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
}

// deleteLines is DL. Deleted rows do not go to the scrollback.
func (s *Screen) deleteLines(n int) {
	bottom := s.lineBlock()
	s.grid.scrollUp(s.cy, bottom, min(n, bottom-s.cy+1), s.pen.bg)
}

// scrollDown is SD.
func (s *Screen) scrollDown(n int) {
	s.grid.scrollDown(s.top, s.bottom, min(n, s.bottom-s.top+1), s.pen.bg)
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
