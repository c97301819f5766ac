package tui

import (
	"strings"

	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// drawDialog draws the active dialog and returns the position of the cursor.
func (m *Model) drawDialog(all area) cursor {
	switch m.mode() {
	case inFilter:
		return m.drawPrompted(all.part(0, m.rows-2, m.cols, 1), "/")
	case inCommand:
		m.drawWords(all)
		return m.drawPrompted(all.part(0, m.rows-2, m.cols, 1), ": gc ")
	case inAnswer:
		return m.drawAnswer(all)
	case inPrompt, inEdit:
		return m.drawEditor(m.sheet(all, m.editorHeight()+2))
	default:
		return m.drawConfirm(all)
	}
}

// drawField draws the field of the dialog in an area and returns the position of the cursor.
func (m *Model) drawField(a area, s style) cursor {
	x, y := m.input.draw(a, s)
	return cursor{a.x + x, a.y + y, true}
}

// drawPrompted draws the field of one line behind a label.
func (m *Model) drawPrompted(a area, label string) cursor {
	a.fill(0, "", plain)
	x := a.text(1, 0, label, bold)
	return m.drawField(a.part(x, 0, a.w-x-1, 1), plain)
}

// drawWords draws the words that can complete the command line, above it.
func (m *Model) drawWords(all area) {
	if len(m.words) == 0 {
		return
	}
	lines := textfmt.Wrap(strings.Join(m.words, "  "), m.cols-4)
	lines = lines[:min(len(lines), 6)]
	a := all.part(0, m.rows-2-len(lines), m.cols, len(lines))
	for y, text := range lines {
		a.fill(y, "", plain)
		a.text(2, y, text, style{fg: vt.Cyan})
	}
}

// sheet draws the frame of a dialog of a height at the bottom of the body, and returns its inner part.
func (m *Model) sheet(all area, height int) area {
	body := layoutOf(m).body
	height = max(3, min(height, body.h))
	a := all.part(0, body.y+body.h-height, m.cols, height)
	for y := range a.h {
		a.fill(y, "", plain)
	}
	s := style{fg: vt.Magenta, attr: vt.Bold}
	a.fill(0, "─", s)
	a.text(2, 0, " "+shorten(m.title(), a.w-6)+" ", s)
	m.zone(a, zone{})
	return a.part(2, 1, a.w-4, a.h-1)
}

func (m *Model) editorWidth() int { return max(10, m.cols-4) }

// editorHeight returns the rows that the text of the dialog needs, at least 3 and at most half of the body.
func (m *Model) editorHeight() int {
	return max(3, min(len(m.input.wrap(m.editorWidth())), layoutOf(m).body.h/2))
}

func (m *Model) drawEditor(a area) cursor {
	if len(m.dialog.agents) > 1 {
		a.fit(0, a.h-1, a.w, textfmt.List(namesOf(m.dialog.agents)), faint)
	}
	return m.drawField(a.part(0, 0, a.w, a.h-1), plain)
}

func (m *Model) drawConfirm(all area) cursor {
	d := &m.dialog
	names := textfmt.Wrap(textfmt.List(namesOf(d.agents)), m.editorWidth())
	if len(d.agents) == 1 {
		names = nil
	}
	consequence := textfmt.Wrap(d.consequence(), m.editorWidth())
	height := 2 + len(consequence) + len(names)
	if d.typed != "" {
		height++
	}
	a := m.sheet(all, height)
	y := a.lines(0, a.lines(0, 0, consequence, plain), names, faint)
	if d.typed == "" {
		return cursor{}
	}
	x := a.text(0, y, "Type ", plain)
	x = a.text(x, y, d.typed, bold)
	x = a.text(x, y, " to confirm: ", plain)
	return m.drawField(a.part(x, y, a.w-x, 1), bold)
}

// drawAnswer draws a question with its options under the number keys and a field for another answer.
func (m *Model) drawAnswer(all area) cursor {
	d := &m.dialog
	q := &d.question
	lines := textfmt.Wrap(textfmt.Block(questionText(q)), m.editorWidth())
	if len(d.equal) > 1 {
		var names []string
		for _, e := range d.equal {
			names = append(names, e.Agent)
		}
		lines = append([]string{"For " + textfmt.List(names)}, lines...)
	}
	text := 0
	if !q.NoText {
		text = max(1, min(len(m.input.wrap(m.editorWidth()-2)), layoutOf(m).body.h/2))
	}
	room := layoutOf(m).body.h - 2 - len(q.Options) - text
	if len(lines) > room {
		lines = append(lines[:max(0, room-1)], "…")
	}
	a := m.sheet(all, len(lines)+len(q.Options)+text+2)
	y := a.lines(0, 0, lines, plain)
	for i, option := range q.Options {
		row := a.part(0, y, a.w, 1)
		if i < 9 {
			row.text(0, 0, string(rune('1'+i)), bold)
			m.zone(row, zone{key: string(rune('1' + i))})
		}
		row.fit(2, 0, a.w-2, option, plain)
		if i == d.option {
			row.highlight()
		}
		y++
	}
	if q.NoText {
		if len(q.Options) == 0 {
			a.text(0, y, "Answer it at the terminal: press Esc, then Enter to attach.", faint)
		}
		return cursor{}
	}
	a.text(0, y, "›", bold)
	field := a.part(2, y, a.w-2, max(1, a.h-y-1))
	if len(m.input.text) == 0 {
		hint := "or type another answer"
		if len(q.Options) == 0 {
			hint = "type the answer"
		}
		field.text(0, 0, hint, faint)
	}
	return m.drawField(field, plain)
}
