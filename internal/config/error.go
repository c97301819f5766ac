package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gascity/internal/textfmt"
)

// Error is one mistake in a configuration file, with its position.
type Error struct {
	File    string
	Line    int    // from 1; 0 means the whole file
	Column  int    // from 1, in characters
	Message string // the problem, in lower case, with the name of the key
	Hint    string // the remedy; may be empty
	Source  string // the line's text
	Width   int    // characters to underline, at least 1
}

// Error returns the position and the message, the source line with carets under the position, and
// the hint:
//
//	city.toml:7:1: unknown key "provder" in [[agents]]
//	  7 | provder = "x"
//	    | ^^^^^^^
//	    = did you mean "provider"?
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message + e.remedy()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	if e.Source == "" {
		b.WriteString(e.remedy())
		return b.String()
	}
	number := fmt.Sprint(e.Line)
	margin := strings.Repeat(" ", len(number))
	fmt.Fprintf(&b, "\n  %s | %s\n  %s | %s", number, e.Source, margin, e.Caret())
	if e.Hint != "" {
		fmt.Fprintf(&b, "\n  %s = %s", margin, e.Hint)
	}
	return b.String()
}

// Brief returns the position, the message and the hint on one line.
func (e *Error) Brief() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message + e.remedy()
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", e.File, e.Line, e.Column, e.Message, e.remedy())
}

// remedy returns "; " and the hint, for the end of a message, or an empty string if there is no
// hint.
func (e *Error) remedy() string {
	if e.Hint == "" {
		return ""
	}
	return "; " + e.Hint
}

// Caret returns a line that underlines the position if it is printed below Source. Tabs stay tabs,
// and a wide character takes two columns.
func (e *Error) Caret() string {
	source := []rune(e.Source)
	begin := min(max(0, e.Column-1), len(source))
	end := min(begin+max(1, e.Width), len(source))
	var b strings.Builder
	for _, r := range source[:begin] {
		if r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Repeat(" ", textfmt.Width(string(r))))
		}
	}
	b.WriteString(strings.Repeat("^", max(1, textfmt.Width(string(source[begin:end])))))
	return b.String()
}

// Errors is a list of mistakes, sorted by position. It has at least one.
type Errors []*Error

// maxTexts is the maximum number of errors in the text of an [Errors].
const maxTexts = 20

// Error returns the texts of the first maxTexts mistakes, with empty lines between them, and then
// the number of further mistakes.
func (es Errors) Error() string {
	texts := make([]string, 0, maxTexts+1)
	for i, e := range es {
		if i == maxTexts {
			texts = append(texts, textfmt.Count(len(es)-i, "more mistake")+"; gc config check shows them")
			break
		}
		texts = append(texts, e.Error())
	}
	return strings.Join(texts, "\n\n")
}

// Unwrap returns the mistakes, so that package errors finds each of them.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// Join returns the errors as an [Errors], sorted by position and without duplicates; nil if there
// are none.
func Join(errs []*Error) error {
	if len(errs) == 0 {
		return nil
	}
	sorted := slices.Clone(errs)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return Errors(slices.CompactFunc(sorted, func(a, b *Error) bool { return *a == *b }))
}

// AsErrors returns the [Errors] that err is or wraps; ok is false if there is none.
func AsErrors(err error) (Errors, bool) {
	return errors.AsType[Errors](err)
}

// ErrorAt returns a mistake with a message at the position o in city.toml. If o has no position,
// the mistake is about the whole file.
func (c *City) ErrorAt(o Origin, format string, args ...any) *Error {
	e := locate(c.source, o)
	e.File, e.Message = cmp.Or(e.File, c.Path), fmt.Sprintf(format, args...)
	return e
}

// longestExcerpt is up to how many bytes from its start a source line is shown in a mistake.
const longestExcerpt = 1000

// locate returns a mistake without a message, at the position of o, with the source line there.
func locate(source []byte, o Origin) *Error {
	if o.File == "" || o.Line == 0 || o.offset > len(source) {
		return &Error{File: o.File}
	}
	line, start := lineAt(source, o.offset)
	if o.offset-start > longestExcerpt {
		return &Error{File: o.File, Line: o.Line, Column: o.Column, Width: 1} // too far to the right to be shown
	}
	if len(line) > longestExcerpt {
		line = append(bytes.ToValidUTF8(line[:longestExcerpt], nil), "…"...)
	}
	end := min(o.offset+o.length, start+len(line))
	width := 1
	if end > o.offset {
		width = utf8.RuneCount(source[o.offset:end])
	}
	return &Error{File: o.File, Line: o.Line, Column: o.Column, Source: maskLine(printable(line)), Width: width}
}

// lineAt returns the line around an offset, without its line end, and the offset at which the line
// begins.
func lineAt(source []byte, offset int) (line []byte, start int) {
	start = bytes.LastIndexByte(source[:offset], '\n') + 1
	line, _, _ = bytes.Cut(source[start:], []byte("\n"))
	return bytes.Clone(bytes.TrimSuffix(line, []byte("\r"))), start
}

// assignment matches a key, the equals sign and the rest of the line.
var assignment = regexp.MustCompile(`([A-Za-z0-9_.-]+)(["']?\s*=\s*)(\S.*)`)

// maskLine replaces the values of credentials in a line by asterisks, so that no message shows
// them.
func maskLine(line string) string {
	if hidden := hiddenInLine([]byte(line), Span{0, len(line)}); len(hidden) > 0 {
		return line[:hidden[0].From] + Masked
	}
	return line
}

// printable replaces the control characters in a line, except tabs. In a terminal, they could move
// the cursor.
func printable(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return utf8.RuneError
		}
		return r
	}, string(line))
}

// originAt returns the position of the byte at an offset of the file.
func originAt(file string, source []byte, offset int) Origin {
	offset = min(max(offset, 0), len(source))
	start := bytes.LastIndexByte(source[:offset], '\n') + 1
	return Origin{
		File: file, Line: 1 + bytes.Count(source[:start], []byte("\n")), Column: columnAt(source, start, offset), offset: offset, length: 1,
	}
}

// farOut is up to how many bytes of a line are counted as characters for a column. Each byte after
// them counts as one column. The limit keeps the time short for a file with one very long line and
// thousands of positions in it.
const farOut = 4096

// columnAt returns the column, from 1, of an offset in the line that begins at start.
func columnAt(source []byte, start, offset int) int {
	near := min(offset, start+farOut)
	return 1 + utf8.RuneCount(source[start:near]) + offset - near
}
