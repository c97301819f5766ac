package vt

import "strings"

// The control characters that tmux writes in rows captured with their attributes.
const (
	captureDrawing   = 0x0e // line drawing from here on
	captureNoDrawing = 0x0f // no line drawing from here on
	captureEscape    = 0x1b
)

// RowReader returns the text of the rows that tmux has captured with attributes (capture-pane -e). Line drawing continues in the next
// row until tmux
// switches it off, so one RowReader reads all rows in order.
type RowReader struct {
	drawing bool
}

// Text returns the text of a row: without control sequences, and with line drawing as Unicode characters.
func (r *RowReader) Text(row string) string {
	if !r.drawing && strings.IndexByte(row, captureEscape) < 0 && strings.IndexByte(row, captureDrawing) < 0 {
		return row
	}
	var b strings.Builder
	b.Grow(len(row))
	var seq sequence
	for i := range len(row) {
		switch c := row[i]; {
		case !seq.isGround():
			seq.advance(c)
		case c == captureDrawing:
			r.drawing = true
		case c == captureNoDrawing:
			r.drawing = false
		case c == captureEscape:
			seq.start()
		case r.drawing && c < 0x80:
			b.WriteRune(SpecialGraphics(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
