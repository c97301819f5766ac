package vt

import "slices"

// line describes one row of a grid.
type line struct {
	base    int32 // index of the row's first cell
	used    int32 // columns that were printed on; erasing does not lower it (as tmux's cellused)
	extent  int32 // columns from here on are zero cells
	wrapped bool  // the text goes on in the next row
}

// grid is a rectangle of cells. Rows are reached through lines, so scrolling moves
// small line records and never cells.
type grid struct {
	cols, rows int
	cells      []cell
	lines      []line
}

// newGrid returns an empty grid of this size.
func newGrid(cols, rows int) *grid {
	g := &grid{cols: cols, rows: rows, cells: make([]cell, cols*rows), lines: make([]line, rows)}
	for y := range g.lines {
		g.lines[y].base = int32(y * cols)
	}
	return g
}

// row returns the cells of row y.
func (g *grid) row(y int) []cell {
	b := int(g.lines[y].base)
	return g.cells[b : b+g.cols : b+g.cols]
}

// touch records that columns below x may hold non-zero cells.
func (l *line) touch(x int) { l.extent = max(l.extent, int32(x)) }

// print records that columns below x were printed on.
func (l *line) print(x int) {
	l.extent = max(l.extent, int32(x))
	l.used = max(l.used, int32(x))
}

// clearLine makes row y a fresh line, its cells erased with background bg.
func (g *grid) clearLine(y int, bg Color) {
	l := &g.lines[y]
	row := g.row(y)
	clear(row[:l.extent])
	l.used, l.extent, l.wrapped = 0, 0, false
	if bg != 0 {
		fillBlank(row, bg)
		l.extent = int32(g.cols)
	}
}

// erase clears columns [from, to) of row y with background bg, and the halves of wide
// characters that stick out.
func (g *grid) erase(y, from, to int, bg Color) {
	if from >= to {
		return
	}
	l := &g.lines[y]
	row := g.row(y)
	g.splitWide(row, from)
	g.splitWide(row, to)
	if bg == 0 {
		to = min(to, int(l.extent))
		if from < to {
			clear(row[from:to])
		}
		return
	}
	fillBlank(row[from:to], bg)
	l.touch(to)
}

// splitWide blanks both halves of a wide character that spans columns x-1 and x.
func (g *grid) splitWide(row []cell, x int) {
	if x <= 0 || x >= len(row) || !row[x].isPad() {
		return
	}
	row[x-1] = cell{ch: ' '}
	row[x] = cell{ch: ' '}
}

func fillBlank(cells []cell, bg Color) {
	for i := range cells {
		cells[i] = cell{bg: bg}
	}
}

// scrollUp moves rows [top, bottom] up by n, which must fit; freed rows are cleared.
func (g *grid) scrollUp(top, bottom, n int, bg Color) {
	ls := g.lines[top : bottom+1]
	if n == 1 {
		first := ls[0]
		copy(ls, ls[1:])
		ls[len(ls)-1] = first
	} else {
		rotate(ls, n)
	}
	for y := bottom - n + 1; y <= bottom; y++ {
		g.clearLine(y, bg)
	}
}

// scrollDown moves rows [top, bottom] down by n, which must fit; freed rows are cleared.
func (g *grid) scrollDown(top, bottom, n int, bg Color) {
	ls := g.lines[top : bottom+1]
	rotate(ls, len(ls)-n)
	for y := top; y < top+n; y++ {
		g.clearLine(y, bg)
	}
}

// rotate moves the first n lines to the end.
func rotate(ls []line, n int) {
	slices.Reverse(ls[:n])
	slices.Reverse(ls[n:])
	slices.Reverse(ls)
}

// insertCells shifts the cells of row y from column x right by n and blanks the gap.
func (g *grid) insertCells(y, x, n int, bg Color) {
	row := g.row(y)
	g.splitWide(row, x)
	n = min(n, g.cols-x)
	if x+n < g.cols {
		g.splitWide(row, g.cols-n)
	}
	copy(row[x+n:], row[x:])
	fillBlank(row[x:x+n], bg)
	l := &g.lines[y]
	l.extent = int32(g.cols)
	if x < g.cols-1 {
		l.used = int32(g.cols)
	}
}

// deleteCells shifts the cells of row y from column x+n left by n and blanks the end.
func (g *grid) deleteCells(y, x, n int, bg Color) {
	row := g.row(y)
	n = min(n, g.cols-x)
	g.splitWide(row, x)
	g.splitWide(row, x+n)
	copy(row[x:], row[x+n:])
	fillBlank(row[g.cols-n:], bg)
	l := &g.lines[y]
	l.extent = int32(g.cols)
	l.used = max(l.used, int32(g.cols-n))
}

// resized returns a copy of g with another size: rows are cropped at or filled with
// blanks to the new edges.
func (g *grid) resized(cols, rows int) *grid {
	n := newGrid(cols, rows)
	for y := range min(rows, g.rows) {
		src, dst := g.row(y), n.row(y)
		copy(dst, src)
		if cols < g.cols && src[cols].isPad() {
			dst[cols-1] = cell{ch: ' '}
		}
		l := &n.lines[y]
		l.used = min(g.lines[y].used, int32(cols))
		l.extent = min(g.lines[y].extent, int32(cols))
		l.wrapped = g.lines[y].wrapped
	}
	return n
}
