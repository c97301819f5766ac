package textfmt

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// painted measures and cuts text with the colors of [Painter], which take no room.
var painted = displaywidth.Options{ControlSequences: true}

// Visible returns the width of a text without its color sequences.
func Visible(text string) int { return painted.String(text) }

// Rows returns the number of terminal rows that a text of complete lines needs. Lines that are wider than columns are wrapped;
// zero columns means unlimited.
func Rows(text string, columns int) int {
	rows := 0
	for line := range strings.Lines(text) {
		rows++
		if columns > 0 {
			rows += max(0, Visible(strings.TrimRight(line, "\n"))-1) / columns
		}
	}
	return rows
}

// Cut returns the part of a line that fits into columns, with an ellipsis if that is not all of it. Colors of [Painter] take no
// room. Zero columns means unlimited.
func Cut(line string, columns int) string {
	if columns <= 0 || Visible(line) <= columns {
		return line
	}
	return painted.TruncateString(line, columns, "…")
}
