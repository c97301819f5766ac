package screen

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gascity/internal/agentcli"
)

// Snapshot is a frame with normalized rows: NBSP and box borders are replaced by spaces, and trailing spaces are removed.
// Columns do not change.
type Snapshot struct {
	Frame
	rows []string

	folded func() string // the rows as one folded text, computed once
}

// Update returns the snapshot of a newer frame. It reuses the rows if the sequence number is the same.
func (v Snapshot) Update(f Frame) Snapshot {
	if f.Seq != v.Seq {
		return NewSnapshot(f)
	}
	v.Frame = f
	return v
}

// NewSnapshot returns a frame with its rows cleaned, for readers that search in it. The text of all rows that they search is made
// at its first use.
func NewSnapshot(f Frame) Snapshot {
	v := Snapshot{Frame: f, rows: make([]string, len(f.Rows))}
	for i, row := range f.Rows {
		v.rows[i] = clean(row)
	}
	v.folded = sync.OnceValue(func() string { return fold(strings.Join(v.rows, " ")) })
	return v
}

const borders = "│┃║▌▐"

// clean returns a row with spaces for NBSP and for box borders at its ends, without trailing spaces.
func clean(row string) string {
	row = strings.TrimRight(strings.ReplaceAll(row, "\u00a0", " "), " ")
	if head := strings.TrimLeft(row, " "); head != "" {
		if r, n := utf8.DecodeRuneInString(head); strings.ContainsRune(borders, r) {
			row = row[:len(row)-len(head)] + " " + head[n:]
		}
	}
	if r, n := utf8.DecodeLastRuneInString(row); strings.ContainsRune(borders, r) {
		row = row[:len(row)-n]
	}
	return strings.TrimRight(row, " ")
}

// maxIndent is the largest indentation of a prompt, for example inside a box.
const maxIndent = 2

// cutMark returns the text after the mark at the beginning of a cleaned row. A space or the end of the row must follow a
// mark, so ">>> " does not match "> ".
func cutMark(row, mark string) (rest string, ok bool) {
	mark = strings.TrimRight(strings.ReplaceAll(mark, "\u00a0", " "), " ")
	trimmed := strings.TrimLeft(row, " ")
	if mark == "" || len(row)-len(trimmed) > maxIndent {
		return "", false
	}
	rest, ok = strings.CutPrefix(trimmed, mark)
	if !ok || rest != "" && rest[0] != ' ' && utf8.RuneCountInString(mark) <= maxShortMark {
		return "", false
	}
	return strings.TrimPrefix(rest, " "), true
}

// maxShortMark is the length in characters of the longest mark that a space must follow. Any text may follow a longer one
// ("ready>").
const maxShortMark = 3

// cutAnyMark returns the text after the first of the marks with which the row begins; ok is false if there is none.
func cutAnyMark(row string, marks []string) (rest string, ok bool) {
	for _, mark := range marks {
		if rest, ok := cutMark(row, mark); ok {
			return rest, true
		}
	}
	return "", false
}

// hasMark reports whether the row begins with one of the marks. A row with the mark of an input box shows the box or a
// prompt that was submitted.
func hasMark(row string, marks []string) bool {
	_, ok := cutAnyMark(row, marks)
	return ok
}

// lastRow returns the number of the lowest row for which is returns true; -1 if there is none.
func (v Snapshot) lastRow(is func(row string) bool) int {
	for y, row := range slices.Backward(v.rows) {
		if is(row) {
			return y
		}
	}
	return -1
}

// minRule is the shortest row of line characters that counts as a rule.
const minRule = 8

// isLineRune reports whether r is a line drawing character that can be part of a horizontal rule.
func isLineRune(r rune) bool {
	switch r {
	case '│', '┃', '║':
		return false
	case '▀', '▄', '▁', '▔':
		return true
	}
	return r >= 0x2500 && r <= 0x257f
}

// ruleRow reports whether a row is a horizontal rule or the edge of a box. plain reports whether it contains no text.
func ruleRow(row string) (rule, plain bool) {
	row = strings.TrimSpace(row)
	if first, _ := utf8.DecodeRuneInString(row); !isLineRune(first) {
		return false, false
	}
	lines, others := 0, 0
	for _, r := range row {
		if isLineRune(r) {
			lines++
		} else {
			others++
		}
	}
	if lines < minRule || !edged(row) {
		return false, false
	}
	return true, others == 0
}

// edged reports whether a row begins with two line characters and ends with one.
func edged(row string) bool {
	first, n := utf8.DecodeRuneInString(row)
	second, _ := utf8.DecodeRuneInString(row[n:])
	last, _ := utf8.DecodeLastRuneInString(row)
	return isLineRune(first) && isLineRune(second) && isLineRune(last)
}

// cornered reports whether a row begins with the corner of a box.
func cornered(row string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(row))
	return r >= 0x250c && r <= 0x251b || r >= 0x2552 && r <= 0x255d || r >= 0x256d && r <= 0x2570
}

// blank reports whether the screen is empty.
func (v Snapshot) blank() bool {
	return v.lastRow(isText) < 0
}

// isText reports whether a cleaned row contains text.
func isText(row string) bool { return row != "" }

// text returns the last rows that are not empty, at most screenText.
func (v Snapshot) text() string {
	var kept []string
	for _, row := range v.Rows {
		if row = strings.TrimRight(row, " "); row != "" {
			kept = append(kept, row)
		}
	}
	return strings.Join(kept[max(0, len(kept)-screenText):], "\n")
}

// Shows reports whether a row matches one of the patterns.
func (v Snapshot) Shows(patterns []agentcli.Pattern) bool { return v.anyRow(patterns, 0) }

// Count returns how many rows match one of the patterns.
func (v Snapshot) Count(patterns []agentcli.Pattern) (n int) {
	for _, row := range v.rows {
		if matchesAny(row, patterns) {
			n++
		}
	}
	return n
}

// anyRow reports whether one of the rows from the given one on matches one of the patterns.
func (v Snapshot) anyRow(patterns []agentcli.Pattern, from int) bool {
	return slices.ContainsFunc(v.rows[max(0, from):], func(row string) bool { return matchesAny(row, patterns) })
}

// matchesAny reports whether a row that is not empty matches one of the patterns.
func matchesAny(row string, patterns []agentcli.Pattern) bool {
	row = strings.TrimSpace(row)
	return row != "" && agentcli.MatchAny(patterns, row)
}
