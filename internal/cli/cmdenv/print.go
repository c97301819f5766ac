package cmdenv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// Messagef prints a message for people to standard error, wrapped on a terminal. With --json it
// prints nothing: standard error then has errors only. It is safe for concurrent use if Stderr is.
func (d *Base) Messagef(format string, args ...any) {
	if d.JSON {
		return
	}
	fmt.Fprintln(d.Stderr, d.wrapped(d.Stderr, fmt.Sprintf(format, args...)))
}

// wrapped returns text, with its lines wrapped to the terminal's width if stream is a terminal.
func (d *Base) wrapped(stream any, text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, textfmt.Hanging(line, d.columnsOf(stream))...)
	}
	return strings.Join(lines, "\n")
}

// Linef prints one line of data for people, wrapped on a terminal.
func (d *Base) Linef(format string, args ...any) {
	fmt.Fprintln(d.Stdout, d.wrapped(d.Stdout, fmt.Sprintf(format, args...)))
}

// PaintMessage returns a word for a message, colored if standard error uses colors.
func (d *Base) PaintMessage(c textfmt.Color, word string) string {
	return textfmt.Painter{On: d.usesColor(d.Stderr)}.Paint(c, word)
}

// PrintJSON prints a value as one indented JSON document.
func (d *Base) PrintJSON(value any) error {
	return d.encode(d.Stdout, value, "  ")
}

// PrintIfJSON prints a value as [Base.PrintJSON] does if --json is set, else nothing.
func (d *Base) PrintIfJSON(value any) error {
	if !d.JSON {
		return nil
	}
	return d.PrintJSON(value)
}

// Formatter returns a formatter with the colors, the time and the width of this run.
func (d *Base) Formatter() render.Formatter {
	return render.Formatter{Painter: d.Painter, Now: d.Now(), Columns: d.Columns()}
}

// Show prints a value: as JSON with --json, else as the text that format returns. If loading the value failed with err, it returns
// err instead.
func (d *Base) Show(value any, err error, format func(render.Formatter) string) error {
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.PrintJSON(value)
	}
	_, err = fmt.Fprint(d.Stdout, format(d.Formatter()))
	return err
}

// PrintResult prints the result of a request: as JSON with --json, else words as a message. If the request failed with err, it
// returns err instead.
func (d *Base) PrintResult(value any, err error, words string) error {
	if err != nil {
		return err
	}
	d.Messagef("%s", words)
	return d.PrintIfJSON(value)
}

// PrintDone prints the result of a request as [Base.PrintResult] does. If nothing was changed, the error matches
// [client.ErrRefused] and has the reason.
func (d *Base) PrintDone(done client.Done, err error, success string) error {
	if err == nil && !done.Changed {
		err = fmt.Errorf("%w: nothing was done: %s", client.ErrRefused, cmp.Or(done.Detail, "no reason was given"))
	}
	return d.PrintResult(done, err, success)
}

// Rows returns the JSON form of a list: an object with the list under its name. So a later version
// can add fields to the object. A nil list becomes an empty one.
func Rows[T any](name string, list []T) map[string][]T {
	return map[string][]T{name: append([]T{}, list...)}
}

// PrintJSONLine prints a value of a stream as one line of JSON.
func (d *Base) PrintJSONLine(value any) error {
	return d.encode(d.Stdout, value, "")
}

// encode prints a value as JSON, with control characters escaped.
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

// Columns returns the width of the terminal on standard output; zero if standard output is no
// terminal.
func (d *Base) Columns() int { return d.columnsOf(d.Stdout) }

// columnsOf returns the width of the terminal; zero if the stream is no terminal.
func (d *Base) columnsOf(stream any) int {
	if d.Width == nil || !d.IsTerminal(stream) {
		return 0
	}
	return d.Width()
}

// Rows returns the number of rows of the terminal on standard output; zero if standard output is no terminal.
func (d *Base) Rows() int {
	if d.Height == nil || !d.IsTerminal(d.Stdout) {
		return 0
	}
	return d.Height()
}

// PrintText prints the text of an agent without control sequences, with a newline at its end. It
// also removes them in a pipe, because that output may reach a terminal later.
func (d *Base) PrintText(s string) {
	s = textfmt.Block(s)
	fmt.Fprint(d.Stdout, s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		fmt.Fprintln(d.Stdout)
	}
}

// PrintScreen prints the text of an agent's screen as [Base.PrintText] does, moved indent columns
// to the right. On a narrower terminal it shortens horizontal lines and wraps text at blanks.
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

// Progress replaces the current line on standard error; an empty line clears it. Standard error
// must be a terminal.
func (d *Base) Progress(line string) {
	fmt.Fprint(Raw(d.Stderr), "\r"+textfmt.OneLine(line)+"\x1b[K")
}
