package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"gascity/internal/text"
)

// talk prints one line for people.
func (a *app) talk(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// document prints a value as one indented JSON document.
func (a *app) document(value any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// line prints a value of a stream as one line of JSON.
func (a *app) line(value any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// print prints a table.
func (a *app) print(t *text.Table) { fmt.Fprint(a.Stdout, t.Render(a.Painter, a.columns())) }

// columns is the width of the terminal on standard output, zero if it is none.
func (a *app) columns() int {
	if a.Width == nil || !a.IsTerminal(a.Stdout) {
		return 0
	}
	return a.Width()
}

// printText prints an agent's text; a terminal is protected from it.
func (a *app) printText(s string) {
	if a.IsTerminal(a.Stdout) {
		s = text.Block(s)
	}
	fmt.Fprint(a.Stdout, s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		fmt.Fprintln(a.Stdout)
	}
}
