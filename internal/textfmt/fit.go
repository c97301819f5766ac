package textfmt

import (
	"strings"
	"unicode/utf8"
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

// stripped returns a line without control sequences and without newlines at its end.
func stripped(line string) string {
	var out strings.Builder
	if _, err := (&Stripper{Out: &out}).Write([]byte(strings.TrimRight(line, "\n"))); err != nil {
		return line // never happens: a strings.Builder returns no error
	}
	return out.String()
}

// Cut returns the part of a line that fits into columns, with an ellipsis if that is not all of it. Colors of [Painter] take no
// room. Zero columns means unlimited.
func Cut(line string, columns int) string {
	if columns <= 0 || Visible(line) <= columns {
		return line
	}
	var out strings.Builder
	room := columns - 1 // one is for the ellipsis
	for line != "" {
		if end := strings.IndexByte(line, 'm') + 1; end > 0 && strings.HasPrefix(line, colorStart) {
			out.WriteString(line[:end])
			line = line[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		for size < len(line) && Width(line[:size]) == Width(line[:size+nextRune(line[size:])]) && !strings.HasPrefix(line[size:], colorStart) {
			size += nextRune(line[size:]) // a mark that belongs to the character
		}
		if room >= 0 {
			if room -= Width(line[:size]); room >= 0 {
				out.WriteString(line[:size])
			} else {
				out.WriteString("…")
			}
		}
		line = line[size:]
	}
	return out.String()
}

func nextRune(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}
