package vt

// Moves of the cursor. Columns go from 0 to cols: cols means that the last column was
// printed and the next character wraps.

// moveUp moves the cursor up by n rows. It stops at the top of the scroll region, or of the screen if
// the cursor is above the region.
func (s *Screen) moveUp(n int) {
	top := 0
	if s.cy >= s.top {
		top = s.top
	}
	s.unwrapCursor()
	s.cy = max(s.cy-n, top)
}

// moveDown moves the cursor down by n rows. It stops at the bottom of the scroll region, or of the
// screen if the cursor is below the region.
func (s *Screen) moveDown(n int) {
	bottom := s.rows - 1
	if s.cy <= s.bottom {
		bottom = s.bottom
	}
	s.unwrapCursor()
	s.cy = min(s.cy+n, bottom)
}

func (s *Screen) moveRight(n int) { s.cx = min(s.cx+n, s.cols-1) }

func (s *Screen) moveLeft(n int) { s.cx = max(s.cx-n, 0) }

func (s *Screen) unwrapCursor() { s.cx = min(s.cx, s.cols-1) }

// moveTo places the cursor, counted from the scroll region when origin mode is on.
func (s *Screen) moveTo(x, y int) {
	s.cx = min(max(x, 0), s.cols-1)
	s.moveToRow(y)
}

// moveToRow moves the cursor to row y, counted from 0, within the screen. In origin mode y counts from the top of the
// scroll region, and the cursor stays in the region.
func (s *Screen) moveToRow(y int) {
	if s.modes.Origin {
		y = min(max(y, 0)+s.top, s.bottom)
	}
	s.cy = min(max(y, 0), s.rows-1)
}

// moveToColumn places the cursor on its row.
func (s *Screen) moveToColumn(x int) { s.cx = min(max(x, 0), s.cols-1) }

// backspace moves the cursor left. At the start of a row that continues the row above, it moves to the end of the row above.
func (s *Screen) backspace() {
	if s.cx > 0 {
		s.cx--
		return
	}
	if s.cy > 0 && s.grid.lines[s.cy-1].wrapped {
		s.cy--
		s.cx = s.cols - 1
	}
}

// tab moves to the n-th next tab stop or the last column.
func (s *Screen) tab(n int) {
	for ; n > 0 && s.cx < s.cols-1; n-- {
		s.cx++
		for s.cx < s.cols-1 && !s.tabs[s.cx] {
			s.cx++
		}
	}
}

// backTab moves to the n-th previous tab stop or the first column.
func (s *Screen) backTab(n int) {
	s.unwrapCursor()
	for ; n > 0 && s.cx > 0; n-- {
		s.cx--
		for s.cx > 0 && !s.tabs[s.cx] {
			s.cx--
		}
	}
}

// resetTabs sets the default tab stops: one in every eighth column.
func (s *Screen) resetTabs() {
	s.tabs = make([]bool, s.cols)
	for x := 8; x < s.cols; x += 8 {
		s.tabs[x] = true
	}
}

// index moves down a row and scrolls the region at its bottom.
func (s *Screen) index(bg Color) {
	if s.cy != s.bottom {
		s.cy = min(s.cy+1, s.rows-1)
		return
	}
	s.scrollUp(1, bg)
}

// reverseIndex moves up a row and scrolls the region at its top.
func (s *Screen) reverseIndex() {
	if s.cy != s.top {
		s.cy = max(s.cy-1, 0)
		return
	}
	s.scrollDown(1)
}

// scrollUp scrolls the region; on the main screen its rows go to the scrollback.
func (s *Screen) scrollUp(n int, bg Color) {
	n = min(n, s.bottom-s.top+1)
	if !s.modes.AltScreen {
		for y := s.top; y < s.top+n; y++ {
			s.pushToScrollback(y)
		}
	}
	s.grid.scrollUp(s.top, s.bottom, n, bg)
	if s.modes.AltScreen {
		s.endBefore(s.top)
	}
}

// pushToScrollback copies a row of the main screen to the scrollback.
func (s *Screen) pushToScrollback(y int) {
	if s.history.limit == 0 {
		return
	}
	s.history.push(&s.interned, s.grid.row(y), s.grid.lines[y])
	s.scrolled = min(s.scrolled+1, s.history.lines)
}

// setMargins sets the scroll region, rows counted from 0; it has at least two rows.
func (s *Screen) setMargins(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.cx, s.cy = 0, 0
}

// savedCursor is what DECSC keeps.
type savedCursor struct {
	x, y    int
	pen     cell
	charset charset
	origin  bool
}

func (s *Screen) saveCursor() {
	s.saved = savedCursor{x: s.cx, y: s.cy, pen: s.pen, charset: s.charset, origin: s.modes.Origin}
}

// restoreCursor restores the cursor position, pen, character set and origin mode that were saved last. A position
// outside of the screen, after a resize, is moved inside.
func (s *Screen) restoreCursor() {
	s.pen, s.charset, s.modes.Origin = s.saved.pen, s.saved.charset, s.saved.origin
	s.cx = min(s.saved.x, s.cols-1)
	s.cy = min(s.saved.y, s.rows-1)
}
