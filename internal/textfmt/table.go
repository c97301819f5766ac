package textfmt

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Color is an SGR parameter; empty is none.
type Color string

// The colours of the program.
const (
	Plain  Color = ""
	Bold   Color = "1"
	Faint  Color = "2"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Cyan   Color = "36"
)

// Painter colours text. The zero value leaves it as it is.
type Painter struct {
	On bool
}

// Paint returns the text in a colour.
func (p Painter) Paint(c Color, text string) string {
	if !p.On || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Width returns how many columns a text takes in a terminal, wide characters
// counted as two.
func Width(text string) int { return displaywidth.String(text) }

// Pad returns the text in a colour, filled up with blanks to a width in columns.
func (p Painter) Pad(c Color, text string, width int) string {
	return p.Paint(c, text) + strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	Color Color
}

// Painted returns a cell in a colour.
func Painted(text string, c Color) Cell { return Cell{Text: text, Color: c} }

// Table has columns that are as wide as their widest cell, wide characters
// counted as two. A column without any text is left out. Nothing is cut: what
// does not fit into the last column stands below its row, and where the columns
// together are too wide for the terminal, the row goes on below a cell that is
// far wider than others.
type Table struct {
	Heads []string // one for each column; all empty is a table without heads
	Rows  [][]Cell // each as long as Heads
}

const (
	columnGap  = 2
	noteIndent = 4
)

// Add appends a row. Its text is made safe with [OneLine].
func (t *Table) Add(row ...Cell) {
	for i := range row {
		row[i].Text = OneLine(row[i].Text)
	}
	t.Rows = append(t.Rows, row)
}

// Render returns the table for a terminal of some columns; zero is unlimited.
func (t *Table) Render(p Painter, columns int) string {
	widths := t.fitted(columns)
	var out strings.Builder
	for _, row := range append(t.headRow(), t.Rows...) {
		used, gap := 0, 0
		for i, c := range row {
			if widths[i] == 0 {
				continue
			}
			width := displaywidth.String(c.Text)
			if columns > 0 && i == len(row)-1 && used > 0 && used+gap+width > columns {
				out.WriteByte('\n')
				used, gap = 0, noteIndent
			}
			if width > 0 {
				out.WriteString(strings.Repeat(" ", gap))
				out.WriteString(p.Paint(c.Color, c.Text))
				used, gap = used+gap+width, 0
			}
			if width > widths[i] && i < len(row)-1 { // the next cell stands under its head
				out.WriteByte('\n')
				used, gap, width = 0, position(widths[:i]), 0
			}
			gap += widths[i] - width + columnGap
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// position returns where the column after the given ones begins.
func position(widths []int) int {
	at := 0
	for _, w := range widths {
		if w > 0 {
			at += w + columnGap
		}
	}
	return at
}

// fitted returns the widths of the columns in a terminal. In one that is too
// narrow no column but the last is wider than a quarter of it, unless nothing
// in it is shorter.
func (t *Table) fitted(columns int) []int {
	widths := t.widths()
	last := len(widths) - 1
	if columns <= 0 || last < 0 || position(widths[:last]) <= columns {
		return widths
	}
	for i := range last {
		if widths[i] <= columns/4 {
			continue
		}
		narrow := displaywidth.String(t.Heads[i])
		for _, row := range t.Rows {
			if w := displaywidth.String(row[i].Text); w <= columns/4 {
				narrow = max(narrow, w)
			}
		}
		widths[i] = narrow
	}
	return widths
}

func (t *Table) headRow() [][]Cell {
	row := make([]Cell, len(t.Heads))
	for i, head := range t.Heads {
		row[i] = Painted(head, Faint)
	}
	if strings.Join(t.Heads, "") == "" {
		return nil
	}
	return [][]Cell{row}
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Heads))
	for _, row := range t.Rows {
		for i, c := range row {
			widths[i] = max(widths[i], displaywidth.String(c.Text))
		}
	}
	for i, w := range widths {
		if w > 0 {
			widths[i] = max(w, displaywidth.String(t.Heads[i]))
		}
	}
	return widths
}
