package vt

// eraseScreen erases the whole screen (ED 2). The text of the main screen moves to the scrollback, as in
// tmux, so that nothing is lost when a program repaints everything.
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

// eraseDisplay executes ED (erase in display). what is 0 for the part after the cursor, 1 for the part up
// to the cursor, 2 for the whole screen and 3 for the scrollback.
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

// eraseLine executes EL (erase in line). what is 0 for the part after the cursor, 1 for the part up to the
// cursor and 2 for the whole line.
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

// eraseChars erases n cells from the cursor on (ECH).
func (s *Screen) eraseChars(n int) { s.eraseCells(s.cx, s.cx+n) }

// insertChars inserts n blank cells at the cursor (ICH).
func (s *Screen) insertChars(n int) {
	if s.cx < s.cols {
		s.grid.insertCells(s.cy, s.cx, n, s.pen.bg)
	}
}

// deleteChars deletes n cells at the cursor (DCH).
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

// insertLines inserts n blank lines at the cursor (IL).
func (s *Screen) insertLines(n int) {
	bottom := s.lineBlock()
	s.grid.scrollDown(s.cy, bottom, min(n, bottom-s.cy+1), s.pen.bg)
	s.endBefore(s.cy)
}

// deleteLines deletes n lines at the cursor (DL). They do not move to the scrollback.
func (s *Screen) deleteLines(n int) {
	bottom := s.lineBlock()
	s.grid.scrollUp(s.cy, bottom, min(n, bottom-s.cy+1), s.pen.bg)
	s.endBefore(s.cy)
}

// scrollDown scrolls the scroll region down by n lines (SD).
func (s *Screen) scrollDown(n int) {
	s.grid.scrollDown(s.top, s.bottom, min(n, s.bottom-s.top+1), s.pen.bg)
	s.endBefore(s.top)
}

// alignmentTest fills the screen with E (DECALN).
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
