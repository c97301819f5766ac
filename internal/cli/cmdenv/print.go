package cmdenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gascity/internal/textfmt"
)

// Messagef prints one line for people, wrapped on a terminal. With --json it prints nothing: standard
// error has errors only then. Safe for concurrent use if Stderr is.
func (d *Base) Messagef(format string, args ...any) {
	if d.JSON {
		return
	}
	fmt.Fprintln(d.Stderr, d.wrapped(d.Stderr, fmt.Sprintf(format, args...)))
}

// wrapped wraps lines for people for the terminal that a stream is.
func (d *Base) wrapped(stream any, text string) string {
	if d.Width == nil || !d.IsTerminal(stream) {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, textfmt.Hanging(line, d.Width())...)
	}
	return strings.Join(lines, "\n")
}

// Linef prints one line of data for people, wrapped on a terminal.
func (d *Base) Linef(format string, args ...any) {
	fmt.Fprintln(d.Stdout, d.wrapped(d.Stdout, fmt.Sprintf(format, args...)))
}

// PaintMessage colours a word on standard error.
func (d *Base) PaintMessage(c textfmt.Color, word string) string {
	return textfmt.Painter{On: d.usesColor(d.Stderr)}.Paint(c, word)
}

// PrintJSON prints a value as one indented JSON document.
func (d *Base) PrintJSON(value any) error {
	return d.encode(d.Stdout, value, "  ")
}

// Rows returns how a list is printed as JSON: in an object, under its name, so that other facts can join
// it without breaking who reads it.
func Rows[T any](name string, list []T) map[string][]T {
	return map[string][]T{name: append([]T{}, list...)}
}

// PrintJSONLine prints a value of a stream as one line of JSON.
func (d *Base) PrintJSONLine(value any) error {
	return d.encode(d.Stdout, value, "")
}

// encode prints JSON in which what would control a terminal is escaped.
func (d *Base) encode(out io.Writer, value any, indent string) error {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return err
	}
	_, err := out.Write(textfmt.EscapeJSON(doc.Bytes()))
	return err
}

// Print prints a table.
func (d *Base) Print(t *textfmt.Table) { fmt.Fprint(d.Stdout, t.Render(d.Painter, d.Columns())) }

// Columns returns the width of the terminal on standard output, zero if it is none.
func (d *Base) Columns() int {
	if d.Width == nil || !d.IsTerminal(d.Stdout) {
		return 0
	}
	return d.Width()
}

// Rows returns how many rows a picture may have that is drawn over and over on the
// terminal on standard output, zero if it is none. The row below it is the
// cursor's.
func (d *Base) Rows() int {
	if d.Height == nil || !d.IsTerminal(d.Stdout) {
		return 0
	}
	return max(0, d.Height()-1)
}

// PrintText prints an agent's text without what could control a terminal, also into a pipe: what is
// piped reaches a terminal, too.
func (d *Base) PrintText(s string) {
	s = textfmt.Block(s)
	fmt.Fprint(d.Stdout, s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		fmt.Fprintln(d.Stdout)
	}
}

// PrintScreen prints the text of an agent's screen as [Base.PrintText] does. On a terminal that is
// narrower than the agent's, ruled lines are shortened and texts are wrapped at blanks.
func (d *Base) PrintScreen(s string, indent int) {
	s = textfmt.Block(s)
	if columns := d.Columns(); columns > indent {
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
			lines = append(lines, textfmt.Wrap(textfmt.ShortenRules(line, columns-indent), columns-indent)...)
		}
		s = strings.Join(lines, "\n")
	}
	if indent > 0 {
		s = textfmt.Indent(s, indent)
	}
	d.PrintText(s)
}

// Progress draws one line on standard error over the one that it drew before; an empty one
// removes that. Standard error must be a terminal.
func (d *Base) Progress(line string) {
	fmt.Fprint(Raw(d.Stderr), "\r"+textfmt.OneLine(line)+"\x1b[K")
}

// PrintFrame prints one picture of what is watched: over the previous one on a
// terminal, so that it does not flicker, else below it. What the terminal has no
// rows for is left out at the end, and counted.
func (d *Base) PrintFrame(picture string) error {
	out := d.Stdout
	if d.IsTerminal(d.Stdout) {
		printable := textfmt.Block
		if d.On {
			printable = textfmt.Colored
		}
		picture = textfmt.Fit(printable(picture), d.Rows(), d.Columns())
		picture = "\x1b[H" + strings.ReplaceAll(picture, "\n", "\x1b[K\n") + "\x1b[J"
		out = Raw(out)
	} else {
		picture += "\n"
	}
	_, err := fmt.Fprint(out, picture)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
