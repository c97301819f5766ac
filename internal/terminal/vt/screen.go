package vt

import "strings"

const (
	// DefaultScrollback is the number of lines kept above the screen when
	// [Options.Scrollback] is 0.
	DefaultScrollback = 10_000

	maxSize = 1000 // columns or rows; larger requests are clamped
)

// Options are the optional settings of a [Screen].
type Options struct {
	// Scrollback is the number of lines kept above the screen; 0 means
	// [DefaultScrollback], a negative number none.
	Scrollback int
	// Reply gets the answers to the program's queries, bytes to write to its input. It is called from Write and must not
	// keep p. nil means no answers.
	Reply func(p []byte)
	// Notify gets titles and other notices. It is called from Write. nil ignores them.
	Notify func(Notice)
}

// Screen is a terminal screen with scrollback. It is used by one goroutine at a time.
type Screen struct {
	interned
	opts Options

	cols, rows int
	grid       *grid // the visible one: main or alt
	main, alt  *grid // alt is nil until first used
	history    scrollback
	scrolled   int // newest lines of history that a taller screen takes back

	cx, cy      int
	top, bottom int // scroll region
	pen         cell
	charset     charset
	saved       savedCursor
	beforeAlt   savedCursor
	hasBefore   bool
	tabs        []bool
	modes       Modes
	cursor      CursorShape

	title  string
	titles []string

	kitty    [2]kittyFlags // main, alternate
	seq      sequence
	pending  []byte // the sequence that seq is in the middle of
	utf8     partial
	last     lastChar
	scratch  []byte
	replyBuf []byte
}

// charset is the state of the character sets G0 and G1.
type charset struct {
	graphics [2]bool // set i is DEC special graphics
	shift    uint8   // the active set
}

// lastChar is the last printed character, as long as no other output follows it.
type lastChar struct {
	r      rune
	ok     bool // REP may repeat it
	joiner bool // a zero width joiner waits for its second part
}

// New returns a blank screen. Sizes below 1 count as 1; opts may be nil.
func New(cols, rows int, opts *Options) *Screen {
	s := &Screen{cols: clampSize(cols), rows: clampSize(rows)}
	if opts != nil {
		s.opts = *opts
	}
	s.history.limit = s.opts.Scrollback
	switch {
	case s.opts.Scrollback == 0:
		s.history.limit = DefaultScrollback
	case s.opts.Scrollback < 0:
		s.history.limit = 0
	}
	s.interned.init()
	s.main = newGrid(s.cols, s.rows)
	s.grid = s.main
	s.bottom = s.rows - 1
	s.modes = initialModes()
	s.resetTabs()
	return s
}

func clampSize(n int) int { return min(max(n, 1), maxSize) }

// Size returns the columns and rows of the screen.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title returns the title set by OSC 0 or 2, empty at first.
func (s *Screen) Title() string { return s.title }

// Cursor returns the position and the look of the cursor.
func (s *Screen) Cursor() Cursor {
	return Cursor{
		X: min(s.cx, s.cols-1), Y: s.cy, PendingWrap: s.cx >= s.cols,
		Visible: s.modes.CursorVisible, Shape: s.cursor,
	}
}

// Modes returns the modes that the program has set.
func (s *Screen) Modes() Modes {
	m := s.modes
	m.KittyKeyboard = s.kittyStack().flags()
	return m
}

// ClearScrollback drops the lines above the screen.
func (s *Screen) ClearScrollback() {
	s.history.clear()
	s.scrolled = 0
}

// Row returns a copy of the cells of visible row y, nil when there is no such row.
func (s *Screen) Row(y int) []Cell {
	if y < 0 || y >= s.rows {
		return nil
	}
	return s.publicRow(s.grid.row(y))
}

// Cells returns a function that returns the cells of visible row y as they are now, also after later output. It leaves out the
// erased cells of default colours at the end of the row. Any goroutine may call it.
func (s *Screen) Cells() func(y int) []Cell {
	n := 0
	for y := range s.rows {
		n += int(s.grid.lines[y].extent)
	}
	all, ends := make([]cell, 0, n), make([]int, s.rows)
	for y := range s.rows {
		all = append(all, s.grid.row(y)[:s.grid.lines[y].extent]...)
		ends[y] = len(all)
	}
	tables := interned{clusters: s.clusters, extras: s.extras} // entries are only added, or the slices are replaced
	return func(y int) []Cell {
		if y < 0 || y >= len(ends) {
			return nil
		}
		begin := 0
		if y > 0 {
			begin = ends[y-1]
		}
		return tables.publicRow(all[begin:ends[y]])
	}
}

// publicRow returns the public form of a row.
func (t *interned) publicRow(row []cell) []Cell {
	out := make([]Cell, len(row))
	for x := range row {
		out[x] = t.public(&row[x])
	}
	return out
}

// Rows returns the text of the visible rows without trailing spaces; one string per row.
func (s *Screen) Rows() []string {
	out := make([]string, s.rows)
	for y := range out {
		out[y] = s.rowText(y)
	}
	return out
}

// rowText returns the text of row y without trailing spaces.
func (s *Screen) rowText(y int) string {
	buf := s.scratch[:0]
	row := s.grid.row(y)
	for x := range row[:s.grid.lines[y].extent] {
		buf = s.appendText(buf, &row[x])
	}
	s.scratch = buf[:0]
	return strings.TrimRight(string(buf), " ")
}

// Lines returns the last n lines of scrollback and screen as text, each without trailing
// spaces, after dropping empty rows at the end of the screen. n <= 0 means everything.
// On the alternate screen the scrollback is still that of the main screen.
func (s *Screen) Lines(n int) []string {
	rows := s.Rows()
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if n > 0 && n <= len(rows) {
		return rows[len(rows)-n:]
	}
	skip := 0
	if n > 0 {
		skip = max(0, s.history.lines-(n-len(rows)))
	}
	out := make([]string, 0, s.history.lines-skip+len(rows))
	var buf []byte
	for stored := range s.history.from(skip) {
		buf = appendStoredText(buf[:0], stored)
		out = append(out, strings.TrimRight(string(buf), " "))
	}
	return append(out, rows...)
}

// appendStoredText appends the text of a scrollback line.
func appendStoredText(dst, stored []byte) []byte {
	r := readLine(stored)
	for {
		text, cols := r.next(nil)
		if cols == 0 {
			return dst
		}
		if len(text) == 0 {
			text = blankText
		}
		dst = append(dst, text...)
	}
}

var blankText = []byte{' '}

// notify passes a notice to the owner of the screen, if the owner wants notices.
func (s *Screen) notify(n Notice) {
	if s.opts.Notify != nil {
		s.opts.Notify(n)
	}
}

// sweep renumbers the interned clusters and styles. Cells that are neither on a screen nor
// a pen must be handed in.
func (s *Screen) sweep(others ...[]cell) {
	pens := []cell{s.pen, s.saved.pen, s.beforeAlt.pen}
	sets := [][]cell{pens, s.main.cells}
	if s.alt != nil {
		sets = append(sets, s.alt.cells)
	}
	s.interned.sweep(append(sets, others...)...)
	s.pen, s.saved.pen, s.beforeAlt.pen = pens[0], pens[1], pens[2]
}
