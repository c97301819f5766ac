package vt

import "strings"

// The control characters that tmux writes in rows captured with their attributes.
const (
	captureDrawing   = 0x0e // line drawing from here on
	captureNoDrawing = 0x0f // no line drawing from here on
	captureEscape    = 0x1b
	captureBell      = 0x07
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
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == captureDrawing:
			r.drawing = true
		case c == captureNoDrawing:
			r.drawing = false
		case c == captureEscape:
			i += sequenceLength(row[i:]) - 1
		case r.drawing && c < 0x80:
			b.WriteRune(SpecialGraphics(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// sequenceLength returns the number of bytes of the control sequence at the start of s: attributes (CSI) or a link (OSC).
func sequenceLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == captureBell:
				return i + 1
			case s[i] == captureEscape && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			}
		}
		return len(s)
	}
	return 2
}
