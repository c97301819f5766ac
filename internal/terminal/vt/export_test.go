package vt

// Margins returns the first and last row of the scroll region, counted from 0.
func (s *Screen) Margins() (top, bottom int) { return s.top, s.bottom }

// ScrollbackLen returns the number of lines above the screen.
func (s *Screen) ScrollbackLen() int { return s.history.lines }

// ScrollbackRow returns the cells of scrollback line i, 0 being the oldest; nil when
// there is no such line. It may be shorter or longer than the screen is wide.
func (s *Screen) ScrollbackRow(i int) []Cell {
	var out []Cell
	if i < 0 || i >= s.history.lines {
		return nil
	}
	for stored := range s.history.from(i) {
		r := readLine(stored)
		for _, c := range r.cells(nil, &s.interned) {
			out = append(out, s.public(&c))
		}
		break
	}
	return out
}

// KeyNames returns the names of all keys without modifiers, as tmux calls them.
func KeyNames() []string { return namedKeys().names }
