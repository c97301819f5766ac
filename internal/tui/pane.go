package tui

import (
	"strings"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// drawPane draws the screen of the selected agent, with its question above it.
func (m *Model) drawPane(all area) {
	l := layoutOf(m)
	agent := m.agent(m.selected)
	if l.pane.w == 0 || agent == nil {
		return
	}
	m.drawHead(all.part(l.pane.x, 1, l.pane.w, 1), agent)
	a := l.pane.of(all)
	m.zone(a, zone{agent: agent.Name, again: true})
	if q := m.question(agent.Name); q != nil && m.mode()&dialogs == 0 {
		used := m.drawCard(a.part(0, 0, a.w, max(4, a.h/2)), q) + 1
		a = a.part(0, used, a.w, a.h-used)
	}
	m.drawScreen(a, agent, m.shift)
}

// drawHead draws one line about an agent: name, condition, backend.
func (m *Model) drawHead(a area, agent *client.Agent) {
	c := m.conditions[agent.Name]
	x := a.text(0, 0, shapes[c.tone].shape, shapes[c.tone].style)
	x = a.text(x, 0, " "+agent.Name, bold)
	x = a.text(x, 0, "  "+c.word, shapes[c.tone].style)
	if text := age(m.now, c.since); text != "" {
		x = a.text(x, 0, " "+text+" ", faint)
	}
	var facts []string
	if n := agent.Attached; n > 0 {
		facts = append(facts, textfmt.Count(n, "terminal")+" attached")
	}
	if s := m.screens[agent.Name]; s != nil && s.Plain {
		facts = append(facts, "text only")
	}
	a.text(x+1, 0, strings.Join(facts, " · "), faint)
}

// drawCard draws the question of an agent and returns the number of rows.
func (m *Model) drawCard(a area, q *client.Pending) int {
	mark := style{fg: vt.Magenta, attr: vt.Bold}
	lines := textfmt.Wrap(textfmt.Block(questionText(q)), max(10, a.w-2))
	room := max(1, a.h-len(q.Options)-2)
	if len(lines) > room {
		lines = append(lines[:room-1:room-1], "…")
	}
	y := 0
	for _, text := range lines {
		a.text(0, y, "▌", mark)
		a.text(2, y, text, plain)
		y++
	}
	for i, option := range q.Options {
		if y >= a.h-1 {
			break
		}
		a.text(0, y, "▌", mark)
		if i < 9 {
			a.text(2, y, string(rune('1'+i)), bold)
		}
		a.fit(4, y, a.w-4, option, plain)
		y++
	}
	a.text(0, y, "▌", mark)
	x := a.text(2, y, "a", bold)
	a.text(x+1, y, "answer", faint)
	y++
	m.zone(a.part(0, 0, a.w, y), zone{key: "a"})
	return y
}

// questionText returns a question with the tool that it is about.
func questionText(q *client.Pending) string {
	text := strings.TrimRight(strings.ReplaceAll(q.Prompt, "\t", "    "), "\n")
	if q.Input != "" && !strings.Contains(text, q.Input) {
		text += "\n" + strings.TrimSpace(q.Tool+" "+q.Input)
	}
	return text
}

// drawScreen draws the part of a screen that fits: its last rows, or those around the cursor, from column left on.
func (m *Model) drawScreen(a area, agent *client.Agent, left int) {
	s := m.screens[agent.Name]
	if s == nil {
		a.lines(1, 1, textfmt.Wrap(textfmt.Block(m.blankText(agent)), max(10, a.w-2)), faint)
		return
	}
	top := s.firstRow(a.h)
	for y := range a.h {
		if top+y >= s.Rows {
			break
		}
		cells := s.Row(top + y)
		shift := min(left, len(cells))
		if shift > 0 && cells[min(shift, len(cells)-1)].Width == 0 {
			shift-- // not between the halves of a wide character
		}
		cells = cells[shift:]
		a.screenRow(y, cells)
		if inked(cells) > a.w {
			a.set(a.w-1, y, "›", 1, faint)
		}
	}
	if c := s.Cursor; c.Visible && m.link.away.IsZero() {
		x, y := c.X-left, c.Y-top
		if x >= 0 && x < a.w && y >= 0 && y < a.h {
			cell := &a.canvas.row(a.y + y)[a.x+x]
			cell.style.attr ^= vt.Reverse
		}
	}
	if !m.link.away.IsZero() {
		for y := range a.h {
			a.restyle(y, func(s style) style { s.attr |= vt.Dim; return s })
		}
	}
}

// blankText returns why there is no screen.
func (m *Model) blankText(agent *client.Agent) string {
	c := m.conditions[agent.Name]
	switch {
	case !m.link.away.IsZero():
		return "The screen comes back with the controller."
	case c.tone == toneStop && restartOf(*agent) == "start":
		return "The agent does not run. r starts it."
	case c.tone == toneFail:
		return "The agent does not run: " + c.detail + "\nr starts it, e explains its state, l shows its logs."
	case m.noScreen[agent.Name] != "":
		return m.noScreen[agent.Name]
	}
	return ""
}

// firstRow returns the first row of the part of height rows that is shown: it ends with the last row that is not blank, or with
// the cursor if that is below.
func (s *Screen) firstRow(height int) int {
	if s.Rows <= height {
		return 0
	}
	end := s.Rows
	for end > 0 && inked(s.Row(end-1)) == 0 {
		end--
	}
	if s.Cursor.Visible {
		end = max(end, s.Cursor.Y+1)
	}
	return max(0, end-height)
}

// inked returns the number of columns up to the last one that is not blank.
func inked(cells []vt.Cell) int {
	n := len(cells)
	for n > 0 && (cells[n-1].Text == " " || cells[n-1].Text == "" && cells[n-1].Width != 0) && cells[n-1].Style.BG.IsDefault() && !cells[n-1].Style.Has(vt.Reverse) {
		n--
	}
	return n
}
