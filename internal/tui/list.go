package tui

import (
	"fmt"

	"gascity/client"
	"gascity/internal/terminal/vt"
)

// drawList draws the list of agents with its heading.
func (m *Model) drawList(all area) {
	l := layoutOf(m)
	if l.list.w == 0 {
		return
	}
	head := all.part(0, 1, l.list.w, 1)
	nameWidth, columns := m.listColumns(l.list.w)
	x := head.text(3, 0, "AGENT", faint)
	hidden := ""
	if m.top > 0 {
		hidden += fmt.Sprintf(" ↑%d", m.top)
	}
	if n := len(m.lines) - m.top - l.list.h; n > 0 {
		hidden += fmt.Sprintf(" ↓%d", n)
	}
	head.fit(x, 0, nameWidth-5, hidden, faint)
	for _, c := range columns {
		drawCell(head, c, c.head, faint)
	}
	a := l.list.of(all)
	for y, row := range window(m.lines, m.top, a.h) {
		m.drawLine(a.part(0, y, a.w, 1), row, nameWidth, columns)
	}
	if len(m.lines) == 0 && m.loaded {
		text := "no agents; add one to " + client.CityFile
		if m.filter != "" {
			text = "no agent matches; Esc removes the filter"
		}
		a.fit(3, 1, a.w-3, text, faint)
	}
	if l.pane.w > 0 {
		for y := 1; y < all.h-m.rowsBelow(); y++ {
			all.text(l.list.w, y, "│", faint)
		}
	}
}

// drawCell draws the text of a column in the first row of an area.
func drawCell(a area, c column, text string, s style) {
	text = shorten(text, c.width)
	x := c.x
	if c.right {
		x += c.width - textWidth(text)
	}
	a.text(x, 0, text, s)
}

// drawLine draws an agent or the heading of a rig.
func (m *Model) drawLine(a area, l line, nameWidth int, columns []column) {
	if l.agent == nil {
		name := l.rig
		if name == "" {
			name = "city"
		}
		a.fit(1, 0, a.w-2, name, style{attr: vt.Bold | vt.Dim})
		return
	}
	agent := l.agent
	c := m.conditions[agent.Name]
	if m.marked[agent.Name] {
		a.text(0, 0, "✓", bold)
	}
	a.text(1, 0, shapes[c.tone].shape, shapes[c.tone].style)
	name := agent.Name
	if m.headed() {
		_, name = rigOf(name)
	}
	nameStyle := plain
	switch c.tone {
	case toneNeed, toneFail:
		nameStyle = bold
	case toneStop:
		nameStyle = faint
	default:
	}
	a.fit(3, 0, nameWidth, name, nameStyle)
	for _, column := range columns {
		text, s := column.value(m, agent, c)
		drawCell(a, column, text, s)
	}
	if agent.Name == m.selected {
		a.highlight()
	}
	m.zone(a, zone{agent: agent.Name, again: agent.Name == m.selected})
}

// headed reports whether the list has headings.
func (m *Model) headed() bool { return len(m.lines) > 0 && m.lines[0].agent == nil }

// costOf returns what an agent has spent.
func (m *Model) costOf(a *client.Agent, _ condition) (string, style) {
	if usd, ok := m.costs[a.Name]; ok {
		return money(usd), plain
	}
	return "", plain
}

// deliveryTo returns the delivery status of the newest prompt of an agent.
func (m *Model) deliveryTo(a *client.Agent, _ condition) (string, style) {
	r, ok := m.prompts[a.Name]
	if !ok {
		return "", plain
	}
	word, s := deliveryOf(r.State)
	return " " + word, s
}

// percent returns the used part of a context window. From 80% on it stands out.
func percent(part float64) (string, style) {
	switch {
	case part < 0:
		return "", plain
	case part >= 0.8:
		return fmt.Sprintf("%.0f%%", part*100), style{fg: vt.Yellow, attr: vt.Bold}
	}
	return fmt.Sprintf("%.0f%%", part*100), plain
}
