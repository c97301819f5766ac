package textfmt

import (
	"fmt"
	"strings"
)

// Rows returns the number of terminal rows that a text of complete lines needs. Lines that are wider than columns are wrapped;
// zero columns means unlimited.
func Rows(text string, columns int) int {
	rows := 0
	for line := range strings.Lines(text) {
		rows++
		if columns > 0 {
			rows += max(0, Width(stripped(line))-1) / columns
		}
	}
	return rows
}

func stripped(line string) string {
	var out strings.Builder
	if _, err := (&Stripper{Out: &out}).Write([]byte(strings.TrimRight(line, "\n"))); err != nil {
		return line // never happens: a strings.Builder returns no error
	}
	return out.String()
}

// Fit cuts the end of a text of complete lines so that it needs at most rows terminal rows, and adds a line with the number of
// removed lines. Zero rows means unlimited.
func Fit(text string, rows, columns int) string {
	if rows <= 0 || Rows(text, columns) <= rows {
		return text
	}
	var out strings.Builder
	left, count := rows-1, strings.Count(text, "\n")
	for line := range strings.Lines(text) {
		if left -= Rows(line, columns); left < 0 {
			break
		}
		count--
		out.WriteString(line)
	}
	fmt.Fprintf(&out, "… %s more\n", Count(count, "line"))
	return out.String()
}
