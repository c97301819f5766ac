package vt

import (
	"strings"
	"testing"
)

// TestRowText covers what only some versions of tmux write, such as links, and rows that end inside a sequence.
func TestRowText(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{
		"":                          "",
		"plain größer":              "plain größer",
		"\x0elqk\x0f q":             "┌─┐ q",
		"\x0elq\nqk\x0f\nq":         "┌─\n─┐\nq",
		"\x0eq\x1b[1mq\x1b[0m\x0fm": "──m",
		"\x0eq日q\x0f":               "─日─",
		"\x1b]8;;http://h/q\x1b\\link\x1b]8;;\x1b\\ end":  "link end",
		"\x0e\x1b]8;id=q;http://h/q\aq\x1b]8;;\a\x0f end": "─ end",
		"cut\x1b":       "cut",
		"cut\x1b[1;":    "cut",
		"cut\x1b]8;;ht": "cut",
		"cut\x1b(Bx":    "cutx",
	} {
		var r RowReader
		var got []string
		for row := range strings.SplitSeq(rows, "\n") {
			got = append(got, r.Text(row))
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("the text of %q is %q, want %q", rows, text, want)
		}
	}
}
