package vt

import "strings"

// Span is a part of a row that has one style. Its text has no control characters.
type Span struct {
	Text  string
	Cols  int // columns that the text takes
	Style Style
}

// Changed reports whether row y has changed after version since, see [Drawing.Frame].
func (d *Drawing) Changed(y int, since uint64) bool {
	return since == 0 || d.resized > since || d.drawn[y].version > since
}

// Spans returns row y of the drawing without blanks at its end. s is the screen of the last Update, unchanged since then. A row
// that mask has changed is one span without a style.
func (d *Drawing) Spans(s *Screen, y int) []Span {
	if text, ok := d.masked[y]; ok {
		return plainSpans(text, s.cols)
	}
	row := s.grid.row(y)[:s.cols]
	end := len(row)
	for end > 0 && row[end-1].isBlank() {
		end--
	}
	var spans []Span
	var text []byte
	var from *cell
	flush := func() {
		if len(text) > 0 {
			spans[len(spans)-1].Text = string(text)
			text = text[:0]
		}
	}
	for x := range row[:end] {
		c := &row[x]
		if from == nil || !c.sameStyle(from) {
			flush()
			spans = append(spans, Span{Style: s.style(c)})
			from = c
		}
		text = s.appendText(text, c)
		spans[len(spans)-1].Cols++
	}
	flush()
	for i, span := range spans {
		if span.Style.Has(Conceal) {
			spans[i].Text = strings.Repeat(" ", span.Cols)
		}
	}
	return spans
}

// isBlank reports whether the cell shows nothing.
func (c *cell) isBlank() bool {
	return (c.ch == 0 || c.ch == ' ') && c.bg.IsDefault() && c.attr&(underlineMask|uint32(Reverse|Strikethrough|Overline)|shapeMask) == 0
}

// plainSpans returns the part of text that fits into cols columns.
func plainSpans(text string, cols int) []Span {
	text = strings.TrimRight(string(appendText(nil, text, cols)), " ")
	if text == "" {
		return nil
	}
	width := 0
	for _, r := range text {
		width += runeWidth(r)
	}
	return []Span{{Text: text, Cols: width}}
}
