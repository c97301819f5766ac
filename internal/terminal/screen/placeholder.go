package screen

import (
	"strings"

	"gascity/internal/terminal/vt"
)

// The gray tones in which programs draw suggestions.
const (
	greyDark, greyLight = 0x40, 0xb0 // brightest component of a 24-bit grey
	greySpread          = 0x20       // difference of its components
	paletteGrey         = 8
	rampDark, rampLight = 238, 248 // of the palette's grey ramp
)

// isPlaceholder reports whether a style is that of suggested text: dim or grey.
func isPlaceholder(s vt.Style) bool {
	if s.Has(vt.Dim) {
		return true
	}
	if i, ok := s.FG.Index(); ok {
		return i == paletteGrey || i >= rampDark && i <= rampLight
	}
	rgb, ok := s.FG.RGB()
	if !ok {
		return false
	}
	high, low := max(rgb[0], rgb[1], rgb[2]), min(rgb[0], rgb[1], rgb[2])
	return high >= greyDark && high <= greyLight && high-low <= greySpread
}

// typed returns the text of row y from column x on without the program's suggestions. A program may draw its cursor as one
// reversed cell over a suggestion. If this is the only cell that is not suggested, it counts as a suggestion too.
func (v Snapshot) typed(y, x int) string {
	cells := v.Cells(y)
	var b strings.Builder
	suggested, solid, cursors := 0, 0, 0
	for i := min(x, len(cells)); i < len(cells); i++ {
		c := cells[i]
		if strings.TrimSpace(c.Text) == "" {
			if c.Width > 0 {
				b.WriteByte(' ')
			}
			continue
		}
		if isPlaceholder(c.Style) {
			suggested++
			b.WriteString(strings.Repeat(" ", c.Width))
			continue
		}
		solid++
		if c.Style.Has(vt.Reverse) || y == v.Cursor.Y && i == v.Cursor.X {
			cursors++
		}
		b.WriteString(c.Text)
	}
	if suggested > 0 && solid == 1 && cursors == 1 {
		return ""
	}
	return strings.TrimRight(b.String(), " ")
}

// columnsOf returns the column after the first n characters of a row.
func columnsOf(cells []vt.Cell, n int) int {
	x := 0
	for x < len(cells) && n > 0 {
		n -= max(1, len([]rune(cells[x].Text)))
		x += max(1, cells[x].Width)
	}
	return x
}
