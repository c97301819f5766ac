package tui

import (
	"slices"

	"gascity/client"
)

// rowsAbove is the number of rows above the body: the title and the heading. Below it are the notice, see [Model.notices], and the footer.
const rowsAbove = 2

// The smallest terminal in which the dashboard is drawn, and the smallest one with list and screen side by side.
const (
	minCols, minRows = 40, 10
	splitCols        = 76
)

// layout is where the parts of a frame are.
type layout struct {
	body rect // between heading and notice
	list rect
	pane rect // the screen of an agent; without columns if there is no room
}

// rect is a position and a size.
type rect struct{ x, y, w, h int }

// of returns the area of the rectangle in a canvas.
func (r rect) of(a area) area { return a.part(r.x, r.y, r.w, r.h) }

// layoutOf returns the layout of the visible panel.
func layoutOf(m *Model) layout {
	body := rect{0, rowsAbove, m.cols, max(0, m.rows-rowsAbove-m.rowsBelow())}
	l := layout{body: body}
	switch m.panel() {
	case inScreen:
		l.pane = body
	case inList:
		if m.cols < splitCols {
			l.list = body
			break
		}
		width := max(36, min(m.cols*42/100, 78))
		l.list = rect{0, body.y, width, body.h}
		l.pane = rect{width + 2, body.y, m.cols - width - 2, body.h}
	default: // neither list nor screen is visible
	}
	return l
}

// column is a column of the list.
type column struct {
	head  string
	x     int
	width int
	right bool
	value func(m *Model, a *client.Agent, c condition) (string, style)
}

// columns returns the columns of the list behind the name, in the order in which they are added to a wider list.
func columns() []column {
	return []column{
		{head: "STATE", width: 13, value: func(_ *Model, _ *client.Agent, c condition) (string, style) { return c.word, shapes[c.tone].style }},
		{head: "AGE", width: 4, right: true, value: func(m *Model, _ *client.Agent, c condition) (string, style) { return age(m.now, c.since), faint }},
		{head: "CTX", width: 4, right: true, value: func(_ *Model, a *client.Agent, _ condition) (string, style) { return percent(contextOf(a)) }},
		{head: "COST", width: 7, right: true, value: (*Model).costOf},
		{head: " PROMPT", width: 14, value: (*Model).deliveryTo},
	}
}

// listColumns returns the width of the name and the columns that fit into a width. Columns after the second are left out if no
// agent has a value. The name gets what the others leave.
func (m *Model) listColumns(width int) (name int, others []column) {
	const wanted = 16 // columns of a name before another column is added
	name = width - 4
	for i, c := range columns() {
		if i >= 2 && (name-c.width-1 < wanted || !m.hasValue(&c)) {
			continue
		}
		if i == 0 && width < 40 {
			c.width = 11
		}
		others = append(others, c)
		name -= c.width + 1
	}
	name = max(4, name)
	x := 3 + name
	for i := range others {
		others[i].x = x + 1
		x += others[i].width + 1
	}
	return name, others
}

// hasValue reports whether a column has a value for an agent of the list.
func (m *Model) hasValue(c *column) bool {
	return slices.ContainsFunc(m.lines, func(l line) bool {
		if l.agent == nil {
			return false
		}
		text, _ := c.value(m, l.agent, condition{})
		return text != ""
	})
}
