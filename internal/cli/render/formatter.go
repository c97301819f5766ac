// Package render shows a city to a person: each of the client's types as a page or
// a table. It is pure: values, a clock and a width go in, text comes out.
//
// What agents and strangers wrote is made safe for a terminal. What is cut says
// so with an ellipsis: the beginnings of prompts, and reasons that quote the
// output of a program, which an explanation has in full.
package render

import (
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Formatter is what pages are written on. The zero value is without colour, at the
// beginning of time and of unlimited width.
type Formatter struct {
	textfmt.Painter
	Now     time.Time
	Columns int  // of the terminal; zero is unlimited
	Rows    int  // that a picture may have; zero is unlimited
	Verbose bool // also what only programs and maintainers need
}

// Table renders a table.
func (s Formatter) Table(t *textfmt.Table) string { return t.Render(s.Painter, s.Columns) }

// indent is how far what belongs to a heading is moved to the right.
const indent = 2

// facts is a table of two columns without empty values. A value of several lines
// has several rows.
type facts struct{ rows [][]textfmt.Cell }

func (f *facts) add(name, value string, c textfmt.Color) {
	for line := range strings.Lines(strings.TrimSpace(value)) {
		f.rows = append(f.rows, []textfmt.Cell{textfmt.Painted(textfmt.OneLine(name), textfmt.Faint), textfmt.Painted(textfmt.OneLine(strings.TrimRight(line, "\n")), c)})
		name = ""
	}
}

func (f *facts) plain(name, value string) { f.add(name, value, textfmt.Plain) }

func (f *facts) render(s Formatter) string {
	return s.Table(&textfmt.Table{Heads: []string{"", ""}, Rows: f.rows})
}

// wrap returns a line of a page, wrapped, with a line end.
func (s Formatter) wrap(line string) string {
	return strings.Join(textfmt.Wrap(line, s.Columns), "\n") + "\n"
}

// lines returns a text for people, indented and wrapped, with a line end.
func (s Formatter) lines(text string, columns int) string {
	width := 0
	if s.Columns > 0 {
		width = max(1, s.Columns-columns)
	}
	var wrapped []string
	for line := range strings.Lines(text) {
		wrapped = append(wrapped, textfmt.Wrap(textfmt.OneLine(line), width)...)
	}
	return textfmt.Indent(strings.Join(wrapped, "\n"), columns) + "\n"
}

// head returns a heading within a page.
func (s Formatter) head(words string) string { return "\n" + s.Paint(textfmt.Faint, words) + "\n" }

// number returns an empty cell for zero and for an unknown number.
func number(n int) textfmt.Cell {
	if n <= 0 {
		return textfmt.Cell{}
	}
	return textfmt.Cell{Text: fmt.Sprint(n)}
}

// StateColor returns the colour of a lifecycle state.
func StateColor(state string) textfmt.Color {
	switch state {
	case client.StateRunning:
		return textfmt.Green
	case client.StateFailed, client.StateQuarantined, client.StateLost:
		return textfmt.Red
	case client.StateStarting, client.StateDraining, client.StateStopping, client.StateUnknown:
		return textfmt.Yellow
	}
	return textfmt.Faint
}

// clock formats a moment of the local day.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func (s Formatter) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t) + ", " + textfmt.Ago(s.Now, t)
}

// Reason returns a reason in one line, without names of the program's inside.
func Reason(words string) string { return textfmt.ReplaceInternalTerms(textfmt.Brief(words)) }

// FirstLine shortens what has more lines; gc session show has them all.
func FirstLine(words string) string {
	first, _, more := strings.Cut(strings.TrimSpace(words), "\n")
	if more {
		return strings.TrimSpace(first) + " …"
	}
	return first
}

// beginning shortens a text to some columns of one line.
func beginning(words string, columns int) string {
	line := textfmt.OneLine(FirstLine(words))
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	return string(runes[:columns-1]) + "…"
}
