package tui

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// Frame is a drawn dashboard.
type Frame struct {
	canvas *canvas
	cursor cursor
}

// View draws the dashboard in the size of the last [Resize]. It changes nothing but the places for the mouse.
func (m *Model) View() Frame {
	c := newCanvas(m.cols, m.rows)
	m.zones = m.zones[:0]
	all := c.all()
	if m.cols < minCols || m.rows < minRows {
		all.text(0, 0, fmt.Sprintf("at least %dx%d", minCols, minRows), plain)
		return Frame{canvas: c}
	}
	m.drawTitle(all.part(0, 0, m.cols, 1))
	switch m.panel() {
	case inPage:
		m.drawPage(all)
	case inHelp:
		m.drawHelp(all)
	case inWall:
		m.drawWall(all)
	case inQueue:
		m.drawQueue(all)
	default:
		m.drawList(all)
		m.drawPane(all)
	}
	f := Frame{canvas: c}
	if m.mode()&dialogs != 0 {
		f.cursor = m.drawDialog(all)
	}
	m.drawNotices(all.part(0, m.rows-m.rowsBelow(), m.cols, m.rowsBelow()-1))
	m.drawFooter(all.part(0, m.rows-1, m.cols, 1))
	return f
}

// zone makes a part of an area a place for the mouse.
func (m *Model) zone(a area, z zone) {
	z.x, z.y, z.w, z.h = a.x, a.y, a.w, a.h
	m.zones = append(m.zones, z)
}

// drawTitle draws the name of the city, how many agents are in which condition, and what they spend.
func (m *Model) drawTitle(a area) {
	x := a.text(1, 0, "gc ", bold)
	x = a.text(x, 0, m.city.City, plain)
	end := a.w - 1
	if !m.link.away.IsZero() {
		text := " controller away since " + m.link.away.Format("15:04:05")
		if a.w >= 100 {
			text += "; agents keep running"
		}
		a.rightText(end, 0, text+" ", style{fg: vt.Yellow, attr: vt.Bold | vt.Reverse})
		return
	}
	if !m.loaded {
		a.text(x, 0, "connecting …", faint)
		return
	}
	if b := m.city.Burn; b != nil && b.USDPerHour != nil {
		end = a.rightText(end, 0, money(*b.USDPerHour)+"/h", plain) - 1
	}
	a = a.part(0, 0, end, 1)
	problem := m.problem()
	x = a.text(x, 0, "  "+textfmt.Count(len(m.city.Agents), "agent"), faint)
	counts := m.counts()
	room := a.w - x - textWidth(problem)
	for _, part := range counts {
		room -= textWidth(part.text) + 4
	}
	for i := len(counts) - 1; i > 0 && room < 0; i-- { // the last ones without words
		n, words, _ := strings.Cut(counts[i].text, " ")
		counts[i].text = n
		room += textWidth(words) + 1
	}
	for _, part := range counts {
		x = a.text(x+2, 0, shapes[part.tone].shape, shapes[part.tone].style)
		x = a.text(x+1, 0, part.text, plain)
	}
	a.text(x+2, 0, problem, style{fg: vt.Red})
}

// problem returns what is wrong with the city as a whole.
func (m *Model) problem() string {
	switch {
	case m.city.Controller.Stopping:
		return "the city stops"
	case m.city.Controller.Degraded != "":
		return "degraded: " + m.city.Controller.Degraded
	case m.city.Plan.Error != "":
		return client.CityFile + " has errors"
	}
	return ""
}

type count struct {
	tone tone
	text string
}

// counts returns how many agents are in which condition, without conditions that no agent has.
func (m *Model) counts() []count {
	n := map[tone]int{}
	for _, c := range m.conditions {
		n[c.tone]++
	}
	verb := "need you"
	if n[toneNeed] == 1 {
		verb = "needs you"
	}
	var found []count
	for _, c := range []count{{toneNeed, verb}, {toneFail, "failed"}, {toneWarn, "in trouble"}, {toneLimit, "limited"}, {toneBusy, "busy"}, {toneIdle, "idle"}, {toneStop, "stopped"}} {
		if n[c.tone] > 0 {
			found = append(found, count{c.tone, fmt.Sprint(n[c.tone], " ", c.text)})
		}
	}
	return found
}

// money returns an amount of USD in at most seven columns.
func money(usd float64) string {
	if usd < 100 {
		return fmt.Sprintf("$%.2f", usd)
	}
	return fmt.Sprintf("$%.0f", usd)
}

// notices returns the rows between the body and the footer: what is wrong with the city, then the result of the last action or, in one row,
// what is to be known about the selected agent. A long result has several rows, because the end of an error names the command that repairs it.
func (m *Model) notices() (rows []string, s []style) {
	add := func(text string, most int, with style) {
		width := max(10, m.cols-2)
		lines := []string{shorten(text, width)}
		if most > 1 {
			lines = textfmt.Wrap(textfmt.OneLine(text), width)
		}
		if len(lines) > most {
			lines = append(lines[:most-1:most-1], shorten(strings.Join(lines[most-1:], " "), width))
		}
		for _, text := range lines {
			rows, s = append(rows, text), append(s, with)
		}
	}
	if m.mode()&(inFilter|inCommand) != 0 {
		return []string{""}, []style{plain} // the dialog is there
	}
	if text := m.trouble(); text != "" && m.rows >= minRows+4 {
		add(text, 2, style{fg: vt.Yellow})
	}
	most := min(4, max(1, m.rows/5))
	switch {
	case m.notice.failed:
		add(m.notice.text, most, style{fg: vt.Red, attr: vt.Bold})
	case m.notice.text != "":
		add(m.notice.text, most, style{fg: vt.Green})
	case m.panel()&agentPanels != 0:
		add(m.detail(), 1, faint)
	case m.panel() == inQueue:
		add(m.queueDetail(), 1, faint)
	default:
		add("", 1, plain)
	}
	return rows, s
}

// rowsBelow returns the number of rows below the body.
func (m *Model) rowsBelow() int {
	rows, _ := m.notices()
	return len(rows) + 1
}

func (m *Model) drawNotices(a area) {
	rows, s := m.notices()
	for y, text := range rows {
		if text != "" {
			a.fit(1, y, a.w-2, text, s[y])
		}
	}
}

// trouble returns what is wrong with the city as a whole, and what to do; empty if nothing is.
func (m *Model) trouble() string {
	switch {
	case !m.link.away.IsZero():
		return m.link.cause + " (here: type : start)"
	case m.city.Plan.Error != "":
		first, _, _ := strings.Cut(m.city.Plan.Error, "\n")
		return first[max(0, strings.Index(first, client.CityFile+":")):] + " (: config check shows all, : edit opens the file)"
	}
	return ""
}

// detail returns what the list does not show about the selected agent.
func (m *Model) detail() string {
	var parts []string
	if m.filter != "" {
		parts = append(parts, fmt.Sprintf("filter %q: %s", m.filter, textfmt.Count(len(m.listed()), "agent")))
	}
	if len(m.marked) > 0 {
		parts = append(parts, fmt.Sprintf("%d marked", len(m.marked)))
	}
	if i := m.unsentFor(m.targets()); i >= 0 {
		parts = append(parts, "a prompt for "+textfmt.List(m.unsent[i].Agents)+" was not sent: p opens it")
	}
	a := m.agent(m.selected)
	if a == nil {
		return strings.Join(parts, " · ")
	}
	c := m.conditions[a.Name]
	switch { // first, because a detail may be longer than the row
	case c.until.After(m.now):
		parts = append(parts, "until "+c.until.Local().Format("15:04"))
	case c.next.After(m.now):
		parts = append(parts, "next try at "+c.next.Local().Format("15:04"))
	}
	if c.detail != "" {
		parts = append(parts, c.detail)
	}
	if runs(*a) && a.Restarts > 0 {
		text := "restarted " + textfmt.Count(a.Restarts, "time")
		if a.Exit != "" {
			text += " (" + textfmt.ReplaceInternalTerms(a.Exit) + ")"
		}
		parts = append(parts, text)
	}
	if a.Queued > 0 {
		parts = append(parts, textfmt.Count(a.Queued, "prompt")+" waiting")
	}
	if r, ok := m.prompts[a.Name]; ok {
		word, _ := deliveryOf(r.State)
		text := "last prompt: " + word
		if r.Reason != "" && r.State != client.ReceiptConsumed && r.State != client.ReceiptSubmitted {
			text += " (" + textfmt.Brief(textfmt.ReplaceInternalTerms(r.Reason)) + ")"
		}
		parts = append(parts, text)
	}
	for _, text := range []string{a.Held, a.Warning} {
		if text != "" {
			parts = append(parts, textfmt.ReplaceInternalTerms(text))
		}
	}
	return strings.Join(parts, " · ")
}

// drawFooter draws the keys that can do something now, and makes them places for the mouse.
func (m *Model) drawFooter(a area) {
	x := 1
	help := m.findKey(m.mode(), "?")
	room := a.w
	if help != nil {
		room -= len(help.foot) + 4
	}
	draw := func(b *binding) {
		label := keyLabel(b.keys[0])
		if len(b.keys) == len(optionKeys) {
			label = b.label()
		}
		begin := x
		x = a.text(x, 0, label, bold)
		x = a.text(x+1, 0, m.footOf(b), faint)
		m.zone(a.part(begin, 0, x-begin, 1), zone{key: b.keys[0]})
		x += 2
	}
	for i := range m.keys {
		b := &m.keys[i]
		if b == help || b.foot == "" || b.modes&m.mode() == 0 || !m.isReady(b) {
			continue
		}
		if x+len(m.footOf(b))+len(b.keys[0])+1 > room {
			break
		}
		draw(b)
	}
	if help != nil {
		draw(help)
	}
}

// helpLines returns the lines of the help: keys and meanings, first those that do something now.
func (m *Model) helpLines() [][2]string {
	var lines, rest, dialog [][2]string
	for i := range m.keys {
		b := &m.keys[i]
		row := [2]string{b.label(), m.helpOf(b)}
		switch {
		case b.modes&panels == 0:
			dialog = append(dialog, row)
		case m.isReady(b):
			lines = append(lines, row)
		default:
			rest = append(rest, row)
		}
	}
	name := m.selected
	if name == "" {
		name = "the city"
	}
	lines = slices.Insert(lines, 0, [2]string{"", "What you can do now with " + name})
	if len(rest) > 0 {
		lines = append(lines, [2]string{}, [2]string{"", "Not now"})
		lines = append(lines, rest...)
	}
	lines = append(lines, [2]string{}, [2]string{"", "In dialogs"})
	lines = append(lines, dialog...)
	lines = append(lines, [2]string{}, [2]string{"", "Shapes"})
	for _, s := range shapes {
		lines = append(lines, [2]string{s.shape, s.meaning})
	}
	return wrapHelp(lines, m.cols-helpColumn-1)
}

// helpColumn is where the meanings of the help begin.
const helpColumn = 22

// wrapHelp breaks keys that are wider than their column, and meanings that are wider than a width. A line without a key is a heading; one with a blank continues a meaning.
func wrapHelp(lines [][2]string, width int) [][2]string {
	var wrapped [][2]string
	for _, l := range lines {
		if l[0] == "" {
			wrapped = append(wrapped, l)
			continue
		}
		keys, meaning := textfmt.Wrap(l[0], helpColumn-4), textfmt.Wrap(l[1], max(8, width))
		for i := range max(len(keys), len(meaning)) {
			row := [2]string{" "}
			if i < len(keys) {
				row[0] = keys[i]
			}
			if i < len(meaning) {
				row[1] = meaning[i]
			}
			wrapped = append(wrapped, row)
		}
	}
	return wrapped
}

// heading draws the heading of a page, and which of its n lines are visible if not all are: height lines from line top on.
func (a area) heading(text string, top, height, n int) {
	a.fit(1, 1, a.w-20, text, bold)
	if n > height {
		a.rightText(a.w-1, 1, fmt.Sprintf("%d-%d of %d", top+1, min(n, top+height), n), faint)
	}
}

func (m *Model) drawHelp(all area) {
	a := layoutOf(m).body.of(all)
	lines := m.helpLines()
	all.heading("Help", m.help, a.h, len(lines))
	for y, l := range window(lines, m.help, a.h) {
		if l[0] == "" {
			a.text(1, y, l[1], style{attr: vt.Bold, underline: true})
			continue
		}
		a.fit(3, y, helpColumn-4, l[0], bold)
		a.fit(helpColumn, y, a.w-helpColumn-1, l[1], plain)
	}
}

func (m *Model) drawPage(all area) {
	a := layoutOf(m).body.of(all)
	heading := m.page.title
	if !m.page.done && len(m.page.lines) == 0 {
		heading += " …"
	}
	all.heading(heading, m.page.top, a.h, len(m.page.lines))
	a = a.part(1, 0, a.w-2, a.h)
	for y, text := range window(m.page.lines, m.page.top, a.h) {
		a.coloredText(y, text)
	}
}
