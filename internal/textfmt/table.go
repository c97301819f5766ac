package textfmt

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Color is an SGR parameter; empty means no color.
type Color string

// The colors of the program.
const (
	Plain  Color = ""
	Bold   Color = "1"
	Faint  Color = "2"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Cyan   Color = "36"
)

// Painter colors text if On is true.
type Painter struct {
	On bool
}

// Paint returns the text in a color.
func (p Painter) Paint(c Color, text string) string {
	if !p.On || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Width returns the number of terminal columns that a text needs. Wide characters count as two.
func Width(text string) int { return displaywidth.String(text) }

// Pad returns the text in a color, followed by blanks up to width columns.
func (p Painter) Pad(c Color, text string, width int) string {
	return p.Paint(c, text) + strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	Color Color
}

// Painted returns a cell in a color.
func Painted(text string, c Color) Cell { return Cell{Text: text, Color: c} }

// Table is a table for a terminal. Each column is as wide as its widest cell; wide characters count as two. A column without
// any text is omitted. No text is cut. In a narrow terminal, long texts are wrapped within their columns. If there is too
// little space for the last column, its text is below the row. If a word is wider than its column, the rest of the row is below
// it.
type Table struct {
	Heads []string // one for each column; if all are empty, the table has no header
	Rows  [][]Cell // each as long as Heads
}

const (
	columnGap  = 2
	noteIndent = 4
	textColumn = 24 // smallest width of a column with wrapped text
)

// Add appends a row. It makes the text safe with [OneLine].
func (t *Table) Add(row ...Cell) {
	for i := range row {
		row[i].Text = OneLine(row[i].Text)
	}
	t.Rows = append(t.Rows, row)
}

// Render returns the table for a terminal of the given width; zero columns means unlimited.
func (t *Table) Render(p Painter, columns int) string {
	widths, below := t.fitted(columns)
	var out strings.Builder
	for at, row := range append(t.headRow(), t.Rows...) {
		last := len(row) - 1
		if !below {
			renderRow(&out, p, row, widths, 0)
			continue
		}
		if at := position(widths); at+displaywidth.String(row[last].Text) <= columns {
			renderRow(&out, p, row, append(widths[:last:last], columns-at), 0)
			continue
		}
		renderRow(&out, p, row[:last], widths, 0)
		if row[last].Text == "" || at == 0 && len(t.headRow()) > 0 {
			continue // the last column has no header then
		}
		for _, line := range Wrap(row[last].Text, columns-noteIndent) {
			out.WriteString(strings.Repeat(" ", noteIndent) + p.Paint(row[last].Color, line) + "\n")
		}
	}
	return out.String()
}

// renderRow writes the cells of a row, beginning with cell from. Each is wrapped within its column.
func renderRow(out *strings.Builder, p Painter, row []Cell, widths []int, from int) {
	cells, height := make([][]string, len(row)), 1
	until := len(row)
	for i := from; i < until; i++ {
		if widths[i] == 0 {
			continue
		}
		cells[i] = Wrap(row[i].Text, widths[i])
		height = max(height, len(cells[i]))
		for _, line := range cells[i] {
			if displaywidth.String(line) > widths[i] {
				until = i + 1 // the next cell is below this one, in its own column
			}
		}
	}
	for n := range height {
		used := 0
		for i := from; i < until; i++ {
			if widths[i] == 0 || n >= len(cells[i]) || cells[i][n] == "" {
				continue
			}
			out.WriteString(strings.Repeat(" ", max(0, position(widths[:i])-used)) + p.Paint(row[i].Color, cells[i][n]))
			used = position(widths[:i]) + displaywidth.String(cells[i][n])
		}
		out.WriteByte('\n')
	}
	for _, c := range row[until:] {
		if c.Text != "" {
			renderRow(out, p, row, widths, until)
			return
		}
	}
}

// position returns the column at which the next table column begins after columns of the given widths.
func position(widths []int) int {
	at := 0
	for _, w := range widths {
		if w > 0 {
			at += w + columnGap
		}
	}
	return at
}

// Room returns the width that the other columns leave for the last one in a terminal of the given width.
func (t *Table) Room(columns int) int { return columns - position(t.widths()[:len(t.Heads)-1]) }

// fitted returns the widths of the columns for a terminal. below reports whether the text of the last column is below the rows.
func (t *Table) fitted(columns int) (widths []int, below bool) {
	widths = t.widths()
	last := len(widths) - 1
	if columns <= 0 || last < 0 || position(widths)-columnGap <= columns {
		return widths, false
	}
	if room := columns - position(widths[:last]); last == 1 && t.headRow() == nil && room >= max(columns/2, t.longestWord(last)) { // names and values
		widths[last] = room
		return widths, false
	}
	if t.share(widths, columns, columns/2) {
		return widths, false
	}
	others := t.widths()[:last]
	if position(others)-columnGap > columns && !t.share(others, columns, columns/2) {
		others = t.widths()[:last]
		_ = t.share(others, columns, columns/4) // cells that do not fit continue below their row
	}
	return append(others, 0), true
}

// share sets the widths of the table's columns for a line of lineWidth terminal columns, and reports whether all table columns
// fit. Columns with long texts, which can be wrapped, share the space that the other columns leave. If another column is wider
// than maxWidth, it gets the width of its widest cell that is not wider than maxWidth, and its wider cells do not fit.
func (t *Table) share(widths []int, lineWidth, maxWidth int) bool {
	natural := append([]int{}, widths...)
	var texts []int // the columns with long texts
	left := lineWidth
	for i, w := range widths {
		switch word := t.longestWord(i); {
		case w == 0:
			continue
		case w > lineWidth/4 && word < w && word <= lineWidth/4:
			texts = append(texts, i)
		case w > maxWidth:
			widths[i] = t.narrow(i, maxWidth)
		}
		left -= columnGap
		if !slices.Contains(texts, i) {
			left -= widths[i]
		}
	}
	left += columnGap
	for n, i := range texts {
		widths[i] = min(natural[i], max(left/(len(texts)-n), textColumn))
		left -= widths[i]
	}
	return left >= 0
}

// narrow returns the width that column i needs for its header and for its cells that are not wider than maxWidth.
func (t *Table) narrow(i, maxWidth int) int {
	width := displaywidth.String(t.Heads[i])
	for _, row := range t.Rows {
		if w := displaywidth.String(row[i].Text); w <= maxWidth {
			width = max(width, w)
		}
	}
	return width
}

// longestWord returns the width of the longest word in column i, or of its header if that is wider.
func (t *Table) longestWord(i int) int {
	width := displaywidth.String(t.Heads[i])
	for _, row := range t.Rows {
		for word := range strings.FieldsSeq(row[i].Text) {
			width = max(width, displaywidth.String(word))
		}
	}
	return width
}

// headRow returns the header as a row; nil if all heads are empty.
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

// widths returns the natural width of each column; 0 for a column without text.
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
