package vt

// Resize changes the size of the screen, as tmux does. On the main screen, wrapped text
// is wrapped again, scrollback included, and a change of height moves rows to or from
// the scrollback. The alternate screen is cropped or extended. The scroll region becomes the whole
// screen when the height changes, tab stops are reset when the width does. Sizes below 1 count
// as 1.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clampSize(cols), clampSize(rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	x, y := &s.cx, &s.cy
	if s.modes.AltScreen {
		x, y = &s.beforeAlt.x, &s.beforeAlt.y
	}
	if rows != s.main.rows {
		s.resizeHeight(rows, y)
	}
	if cols != s.main.cols {
		s.reflow(cols, x, y)
	}
	if s.alt != nil {
		s.resizeAlternate(cols, rows)
	}
	if !s.modes.AltScreen {
		s.grid = s.main
	}
	newWidth, newHeight := cols != s.cols, rows != s.rows
	s.cols, s.rows = cols, rows
	if newWidth {
		s.resetTabs()
	}
	if newHeight {
		s.top, s.bottom = 0, rows-1
	}
	s.cx = min(s.cx, cols)
	s.cy = min(s.cy, rows-1)
}

// resizeAlternate crops or extends the alternate screen. When it gets lower, empty rows
// below the cursor go first, then rows at the top.
func (s *Screen) resizeAlternate(cols, rows int) {
	if !s.modes.AltScreen {
		s.alt = nil
		return
	}
	if drop := s.cy - rows + 1; drop > 0 {
		rotate(s.alt.lines, drop)
		s.cy -= drop
	}
	s.alt = s.alt.resized(cols, rows)
	s.grid = s.alt
}

// resizeHeight changes the height of the main screen; y is the row of its cursor.
func (s *Screen) resizeHeight(rows int, y *int) {
	g := s.main
	n := newGrid(g.cols, rows)
	*y = min(*y, g.rows-1)
	if rows < g.rows {
		up := max(0, *y-rows+1) // rows that scroll off the top
		for i := range up {
			s.history.push(&s.interned, g.row(i), g.lines[i])
		}
		if s.history.limit > 0 {
			s.scrolled = min(s.scrolled+up, s.history.lines)
		}
		for i := range rows {
			n.copyRow(i, g, up+i)
		}
		*y -= up
		s.main = n
		return
	}
	down := min(s.scrolled, rows-g.rows, s.history.lines)
	for i := down - 1; i >= 0; i-- {
		s.popFromScrollback(n, i)
	}
	s.scrolled -= down
	for i := range g.rows {
		n.copyRow(down+i, g, i)
	}
	*y += down
	s.main = n
}

// popFromScrollback moves the newest line of the scrollback to row y of g.
func (s *Screen) popFromScrollback(g *grid, y int) {
	r := readLine(s.history.popLast())
	cells := r.cells(nil, &s.interned)
	if len(cells) > g.cols {
		cells = cells[:g.cols]
		if last := &cells[g.cols-1]; last.isWide() {
			*last = cell{ch: ' '}
		}
	}
	copy(g.row(y), cells)
	g.lines[y].used = int32(min(r.used, g.cols))
	g.lines[y].extent = int32(len(cells))
	g.lines[y].wrapped = r.wrap
}

// copyRow copies row from of src, which is as wide, to row y.
func (g *grid) copyRow(y int, src *grid, from int) {
	copy(g.row(y), src.row(from))
	l := src.lines[from]
	l.base = g.lines[y].base
	g.lines[y] = l
}

// reflow wraps the main screen and its scrollback to a new width. x and y are its cursor.
// All lines stream from the old scrollback and screen into a new scrollback, whose end
// becomes the new screen.
func (s *Screen) reflow(cols int, x, y *int) {
	rows := s.main.rows
	old := s.history
	s.history.clear()

	w := wrapper{s: s, out: make([]cell, 0, cols), cols: cols, keep: old.limit + rows, scrolled: s.scrolled}
	var cells []cell
	old.drain(func(stored []byte) {
		r := readLine(stored)
		cells = r.cells(cells[:0], &s.interned)
		w.line(cells, r.used, r.wrap, -1)
		if s.full() {
			s.sweep(w.out)
		}
	})
	for i, l := range s.main.lines {
		at := -1
		if i == *y {
			at = *x
		}
		w.line(s.main.row(i)[:l.extent], int(l.used), l.wrapped, at)
	}
	if w.open {
		w.end()
	}
	for s.history.lines < rows { // only while there is less than a screen
		w.emit(false)
	}
	s.main = newGrid(cols, rows)
	first := w.count - rows
	for i := rows - 1; i >= 0; i-- {
		s.popFromScrollback(s.main, i)
	}
	s.history.trim(s.history.limit)
	if w.cursorLine >= first {
		*x, *y = w.cursorX, w.cursorLine-first
	} else {
		*x, *y = 0, 0
	}
	s.scrolled = min(w.scrolled, s.history.lines)
}

// wrapper joins wrapped lines and wraps them to another width.
type wrapper struct {
	s     *Screen
	out   []cell // the line being filled
	used  int    // columns of out that come from printed columns
	cols  int
	keep  int // lines of scrollback to keep
	open  bool
	count int // lines emitted

	// tmux's account of the lines that a taller screen takes back.
	scrolled int
	source   int // lines read
	consumed int // whole lines joined to the line being filled

	cursorLine, cursorX int
	atEnd               bool // the cursor goes behind the end of the current text
}

// line adds a line. cursor is the cursor's column on it, or -1.
func (w *wrapper) line(cells []cell, used int, wrapped bool, cursor int) {
	fits := !w.open && !wrapped && len(cells) <= w.cols
	limit := used
	if fits {
		limit = len(cells) // erased cells with a background behind the text stay
	}
	if cursor >= used {
		w.atEnd = true
	}
	joined, before := w.open, w.count
	blank := cell{}
	for x := 0; x < limit; x++ {
		c := &blank
		if x < len(cells) {
			c = &cells[x]
		}
		if c.isPad() {
			continue
		}
		at := w.add(c)
		if cursor == x && !w.atEnd {
			w.cursorLine, w.cursorX = w.count, at
		}
	}
	if fits {
		w.used = used
	}
	w.account(joined, w.count-before)
	w.open = true
	if !wrapped {
		w.end()
	}
}

// account records that a line was joined to the text before it, or not, and began more lines.
func (w *wrapper) account(joined bool, more int) {
	switch {
	case joined && more == 0:
		w.consumed++
	case joined:
		more--
	}
	if w.source <= w.scrolled {
		w.scrolled += more
	}
	w.source++
}

// add appends a character to the line being filled, or begins the next line with it. It
// returns its column.
func (w *wrapper) add(c *cell) int {
	n := 1
	switch {
	case c.isWide() && w.cols < 2:
		c = &cell{ch: ' '}
	case c.isWide():
		n = 2
	}
	if len(w.out)+n > w.cols {
		w.emit(true)
	}
	w.out = append(w.out, *c)
	if n == 2 {
		pad := *c
		pad.ch = 0
		pad.attr = pad.attr&^uint32(shapeMask) | shapePad
		w.out = append(w.out, pad)
	}
	w.used = len(w.out)
	return w.used - n
}

// end ends a text.
func (w *wrapper) end() {
	if w.atEnd {
		w.cursorLine, w.cursorX = w.count, w.used
		w.atEnd = false
	}
	w.emit(false)
	w.open = false
}

// emit moves the finished line to the scrollback and begins an empty one. wrapped means that its text continues on the
// next line.
func (w *wrapper) emit(wrapped bool) {
	if w.scrolled > w.count {
		w.scrolled = max(w.scrolled-w.consumed, w.count)
	}
	w.consumed = 0
	h := &w.s.history
	l := line{used: int32(w.used), extent: int32(len(w.out)), wrapped: wrapped}
	h.scratch = appendLine(h.scratch[:0], &w.s.interned, w.out, l)
	h.pushStored(h.scratch)
	h.trim(w.keep)
	w.count++
	w.out = w.out[:0]
	w.used = 0
}
