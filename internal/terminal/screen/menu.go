package screen

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Option is one row of a menu.
type Option struct {
	Label  string // without its number
	Number int    // 0 if the menu has no numbers
	Row    int    // on the screen
}

// menu is a list of options with one of them highlighted.
type menu struct {
	options     []Option
	at          int // the highlighted one
	top, bottom int // its rows, [top, bottom)
	cut         bool
	ambiguous   bool // more than one row is highlighted
}

// commonGlyphs are the usual marks of the highlighted row, for menus without a rule.
var commonGlyphs = []string{"❯", "›", "●", "◉", "▶", "▸", "→", ">"}

var (
	numbered  = sync.OnceValue(pattern(`^(\d{1,2})[.)] +(\S.*)$`))
	menuHints = sync.OnceValue(pattern(`(?i)\b(enter to (confirm|select|continue|choose)|press enter|esc to (cancel|exit|go back)|arrow keys|use ↑|\(y/n\))|↑/↓|↑↓`))
)

// gap is the largest number of description rows between two numbered options.
const gap = 3

// findMenu returns the lowest menu whose highlighted row begins with one of the
// glyphs.
func (v Snapshot) findMenu(glyphs []string) (menu, bool) {
	for y, v0 := range slices.Backward(v.rows) {
		text, column, ok := cutGlyph(v0, glyphs)
		if !ok {
			continue
		}
		var m menu
		if number, label, ok := cutNumber(text); ok {
			m = v.numberedMenu(y, number, label)
		} else {
			m = v.plainMenu(y, column)
		}
		if len(m.options) >= 2 {
			m.ambiguous = v.otherGlyph(m, glyphs)
			return m, true
		}
	}
	return menu{}, false
}

// cutGlyph returns the text after the glyph at the beginning of a row, and the column of the text.
func cutGlyph(row string, glyphs []string) (text string, column int, ok bool) {
	trimmed := strings.TrimLeft(row, " ")
	for _, glyph := range glyphs {
		if rest, found := strings.CutPrefix(trimmed, glyph); found && strings.HasPrefix(rest, " ") {
			text = strings.TrimLeft(rest, " ")
			return text, utf8.RuneCountInString(row) - utf8.RuneCountInString(text), text != ""
		}
	}
	return "", 0, false
}

// cutNumber splits "1. label" or "1) label" into number and label.
func cutNumber(text string) (n int, label string, ok bool) {
	found := numbered().FindStringSubmatch(text)
	if found == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(found[1])
	return n, found[2], err == nil
}

// numberedMenu returns the menu of the numbered options around the highlighted row y.
func (v Snapshot) numberedMenu(y, number int, label string) menu {
	m := menu{options: []Option{{Label: label, Number: number, Row: y}}, top: y, bottom: y + 1}
	for n, row := number-1, y-1; n >= 1; n-- {
		found, text := v.numberedRow(n, row, -1)
		if found < 0 {
			break
		}
		m.options = slices.Insert(m.options, 0, Option{Label: text, Number: n, Row: found})
		m.at++
		m.top, row = found, found-1
	}
	for n, row := number+1, y+1; ; n++ {
		found, text := v.numberedRow(n, row, +1)
		if found < 0 {
			break
		}
		m.options = append(m.options, Option{Label: text, Number: n, Row: found})
		m.bottom, row = found+1, found+1
	}
	m.cut = m.options[0].Number != 1
	return m
}

// numberedRow searches for option n from row y on, in the direction of step, and skips up to gap other rows. It returns the
// row, or -1, and the label of the option.
func (v Snapshot) numberedRow(n, y, step int) (row int, label string) {
	for range gap + 1 {
		if y < 0 || y >= len(v.rows) {
			break
		}
		if got, label, ok := cutNumber(strings.TrimLeft(v.rows[y], " ")); ok {
			if got == n {
				return y, label
			}
			break
		}
		y += step
	}
	return -1, ""
}

// plainMenu returns the menu of the rows around the highlighted row y whose labels begin in the same column. A check mark
// may precede a label.
func (v Snapshot) plainMenu(y, column int) menu {
	rest := string([]rune(v.rows[y])[column:])
	label, mark := cutCheckMark(rest)
	column += mark
	m := menu{options: []Option{{Label: label, Row: y}}, top: y, bottom: y + 1}
	for row := y - 1; row >= 0; row-- {
		label, ok := labelAt(v.rows[row], column)
		if !ok {
			break
		}
		m.options = slices.Insert(m.options, 0, Option{Label: label, Row: row})
		m.at++
		m.top = row
	}
	for row := y + 1; row < len(v.rows); row++ {
		label, ok := labelAt(v.rows[row], column)
		if !ok {
			break
		}
		m.options = append(m.options, Option{Label: label, Row: row})
		m.bottom = row + 1
	}
	return m
}

// labelAt returns the label of a row, if it begins in the given column and only spaces and a check mark precede it.
func labelAt(row string, column int) (label string, ok bool) {
	text := strings.TrimLeft(row, " ")
	label, mark := cutCheckMark(text)
	return label, text != "" && len(row)-len(text)+mark == column
}

// cutCheckMark removes a check mark before a label. It also returns the number of removed columns.
func cutCheckMark(text string) (label string, columns int) {
	for _, mark := range []string{"✔", "✓"} {
		if rest, ok := strings.CutPrefix(text, mark+" "); ok {
			label = strings.TrimLeft(rest, " ")
			return label, utf8.RuneCountInString(text) - utf8.RuneCountInString(label)
		}
	}
	return text, 0
}

// otherGlyph reports whether more than one row of the menu is highlighted, for example while the program redraws.
func (v Snapshot) otherGlyph(m menu, glyphs []string) bool {
	seen := 0
	for y := m.top - 1; y <= m.bottom; y++ {
		if y < 0 || y >= len(v.rows) {
			continue
		}
		if _, _, ok := cutGlyph(v.rows[y], glyphs); ok {
			seen++
		}
	}
	return seen > 1
}

// hinted reports whether a row from the menu on explains how to use the menu.
func (v Snapshot) hinted(m menu) bool {
	return slices.ContainsFunc(v.rows[m.top:], menuHints().MatchString)
}

// find returns the index of the first wanted label in the menu. ok is false if no label is in the menu, or if this one is
// there twice.
func (m menu) find(want []string) (index int, ok bool) {
	for _, label := range want {
		index, seen := -1, 0
		for i, o := range m.options {
			if canonical(o.Label) == canonical(label) {
				index = i
				seen++
			}
		}
		if seen > 0 {
			return index, seen == 1
		}
	}
	return -1, false
}

var (
	trailer = sync.OnceValue(pattern(`( *\([^()]*\)| *[✔✓•])+$`))
	columns = sync.OnceValue(pattern(` {2,}.*$`))
)

// canonical normalizes a label for comparison: it removes the description column and trailing parentheses and check marks,
// uses straight apostrophes and converts to lower case.
func canonical(label string) string {
	label = strings.ReplaceAll(strings.TrimSpace(label), "’", "'")
	label = columns().ReplaceAllString(label, "")
	return strings.ToLower(trailer().ReplaceAllString(label, ""))
}
