// Package render formats the client's types as text for people: as a page, a table or
// a line. It has no effects: its input is values, a time and a width.
//
// It removes control characters from text of agents and other programs. Long prompts
// and reasons are shortened, with an ellipsis; gc explain shows reasons completely.
package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Formatter formats values as text. The zero value has no colors and an unlimited width.
type Formatter struct {
	textfmt.Painter
	Now     time.Time // the current time, for ages
	Columns int       // width of the terminal; zero is unlimited
	Rows    int       // height of a page; zero is unlimited
	Verbose bool      // also show values that only programs and maintainers need
}

// Table renders a table.
func (s Formatter) Table(t *textfmt.Table) string { return t.Render(s.Painter, s.Columns) }

// indent is the indentation, in columns, of text below a heading.
const indent = 2

// facts is a table of names and values. Empty values are left out. A value with several
// lines has several rows.
type facts struct{ rows [][]textfmt.Cell }

// add appends a named value in a color. An empty value is left out.
func (f *facts) add(name, value string, c textfmt.Color) {
	for line := range strings.Lines(strings.TrimSpace(value)) {
		f.rows = append(f.rows, []textfmt.Cell{textfmt.Painted(textfmt.OneLine(name), textfmt.Faint), textfmt.Painted(textfmt.OneLine(strings.TrimRight(line, "\n")), c)})
		name = ""
	}
}

// plain appends a named value without a color. An empty value is left out.
func (f *facts) plain(name, value string) { f.add(name, value, textfmt.Plain) }

// render returns the table as text.
func (f *facts) render(s Formatter) string {
	return s.Table(&textfmt.Table{Heads: []string{"", ""}, Rows: f.rows})
}

// wrap returns a line, wrapped to the terminal's width, with a newline at its end.
func (s Formatter) wrap(line string) string {
	return strings.Join(textfmt.Wrap(line, s.Columns), "\n") + "\n"
}

// lines returns a text, indented and wrapped to the terminal's width, with a newline at its end.
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

// number returns the cell of a number; an empty cell for zero and for a negative (unknown) number.
func number(n int) textfmt.Cell {
	if n <= 0 {
		return textfmt.Cell{}
	}
	return textfmt.Cell{Text: fmt.Sprint(n)}
}

// stateColors maps lifecycle states to colors.
var stateColors = map[string]textfmt.Color{
	client.StateRunning: textfmt.Green,
	client.StateFailed:  textfmt.Red, client.StateQuarantined: textfmt.Red, client.StateLost: textfmt.Red,
	client.StateStarting: textfmt.Yellow, client.StateDraining: textfmt.Yellow, client.StateStopping: textfmt.Yellow, client.StateUnknown: textfmt.Yellow,
}

// StateColor returns the color of a lifecycle state.
func StateColor(state string) textfmt.Color { return cmp.Or(stateColors[state], textfmt.Faint) }

// formatTime returns a local date and time; empty for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// when returns a local date and time with its age; empty for the zero time.
func (s Formatter) when(t time.Time) string {
	return strings.Join(textfmt.NonEmpty(formatTime(t), textfmt.Ago(s.Now, t)), ", ")
}

// Reason returns a reason in one line, with internal terms of the program replaced, and with local times.
func Reason(words string) string {
	return textfmt.LocalTimes(textfmt.ReplaceInternalTerms(textfmt.Brief(words)))
}

// FirstLine returns the first line of a text, with an ellipsis if there are more lines.
func FirstLine(words string) string {
	first, _, more := strings.Cut(strings.TrimSpace(words), "\n")
	if more {
		return strings.TrimSpace(first) + " …"
	}
	return first
}

// shorten returns the first line of a text, with at most columns characters.
func shorten(words string, columns int) string {
	line := textfmt.OneLine(FirstLine(words))
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	return string(runes[:columns-1]) + "…"
}
