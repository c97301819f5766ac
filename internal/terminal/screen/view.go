package screen

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gascity/internal/agentcli"
)

// Snapshot is a frame as it is read by the rules of a program: NBSP is a space, box borders
// are blanks, there are no trailing spaces. Columns stay where they were.
type Snapshot struct {
	Frame
	rows []string

	folded func() string // the rows as one text that is folded, worked out once
}

// Update returns the view of a newer frame, which shows the same rows where its sequence number
// is the same.
func (v Snapshot) Update(f Frame) Snapshot {
	if f.Seq != v.Seq {
		return NewSnapshot(f)
	}
	v.Frame = f
	return v
}

// NewSnapshot reads a frame.
func NewSnapshot(f Frame) Snapshot {
	v := Snapshot{Frame: f, rows: make([]string, len(f.Rows))}
	for i, row := range f.Rows {
		v.rows[i] = clean(row)
	}
	v.folded = sync.OnceValue(func() string { return fold(strings.Join(v.rows, " ")) })
	return v
}

const borders = "│┃║▌▐"

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

// maxIndent is how far a prompt may be indented, as inside a box.
const maxIndent = 2

// cutMark returns what follows the mark at the beginning of a cleaned row. A
// mark needs a space or the end of the row behind it, so that ">>> " is not
// "> ".
func cutMark(row, mark string) (rest string, ok bool) {
	mark = strings.TrimRight(strings.ReplaceAll(mark, "\u00a0", " "), " ")
	trimmed := strings.TrimLeft(row, " ")
	if mark == "" || len(row)-len(trimmed) > maxIndent {
		return "", false
	}
	rest, ok = strings.CutPrefix(trimmed, mark)
	if !ok || rest != "" && rest[0] != ' ' && isWordMark(mark) {
		return "", false
	}
	return strings.TrimPrefix(rest, " "), true
}

// isWordMark reports whether a mark needs a space behind it: one that is a text
// ("ready>") may be followed by anything.
func isWordMark(mark string) bool { return utf8.RuneCountInString(mark) <= 3 }

// hasPrefixRow returns the last row that begins with the ready prefix.
func (v Snapshot) prefixRow(prefix string) (string, bool) {
	for _, v0 := range slices.Backward(v.rows) {
		if _, ok := cutMark(v0, prefix); ok {
			return v0, true
		}
	}
	return "", false
}

// minRule is the shortest row of line characters that counts as a rule.
const minRule = 8

func isLineRune(r rune) bool {
	switch r {
	case '│', '┃', '║':
		return false
	case '▀', '▄', '▁', '▔':
		return true
	}
	return r >= 0x2500 && r <= 0x257f
}

// ruleRow reports whether a row is a horizontal rule or the edge of a box, and
// whether it is plain, that is, holds no text.
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

// edged reports whether a row begins and ends with line characters.
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

// blank reports whether nothing is on the screen.
func (v Snapshot) blank() bool {
	for _, row := range v.rows {
		if row != "" {
			return false
		}
	}
	return true
}

// text returns the rows that are not empty, at most the last n.
func (v Snapshot) text(n int) string {
	var kept []string
	for _, row := range v.Rows {
		if row = strings.TrimRight(row, " "); row != "" {
			kept = append(kept, row)
		}
	}
	return strings.Join(kept[max(0, len(kept)-n):], "\n")
}

// Shows reports whether a row matches one of the patterns.
func (v Snapshot) Shows(patterns []agentcli.Pattern) bool { return v.anyRow(patterns, 0, len(v.rows)) }

// Count returns how many rows match one of the patterns.
func (v Snapshot) Count(patterns []agentcli.Pattern) (n int) {
	for _, row := range v.rows {
		if row = strings.TrimSpace(row); row != "" && agentcli.MatchAny(patterns, row) {
			n++
		}
	}
	return n
}

// anyRow reports whether one of rows [from, to) matches one of the patterns.
func (v Snapshot) anyRow(patterns []agentcli.Pattern, from, to int) bool {
	for _, row := range v.rows[max(0, from):min(to, len(v.rows))] {
		if row = strings.TrimSpace(row); row != "" && agentcli.MatchAny(patterns, row) {
			return true
		}
	}
	return false
}
