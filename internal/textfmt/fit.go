package textfmt

import (
	"fmt"
	"strings"
)

// Rows returns how many rows of a terminal a text of whole lines takes. Lines
// that are wider than the terminal are wrapped; zero columns is unlimited.
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
		return line // a builder never fails
	}
	return out.String()
}

// Fit cuts the end of a text of whole lines that takes more than some rows of a
// terminal, and says how many lines are left out. Zero rows is unlimited.
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
