package tui

import (
	"slices"
	"time"
)

// noticeTime is how long the notice of a success is shown at least. Then it makes room for what is to be known about the selected agent.
const noticeTime = 8 * time.Second

// Update folds a message into the state and returns what is to be done.
func (m *Model) Update(now time.Time, msg Msg) []Effect {
	m.now = now
	before := m.notice
	effects := m.apply(msg)
	if m.notice != before {
		m.noticed = now
	}
	m.arrange()
	return effects
}

func (m *Model) apply(msg Msg) []Effect {
	switch msg := msg.(type) {
	case Key:
		return m.press(msg)
	case Paste:
		m.insert(msg.Text)
	case Mouse:
		return m.point(msg)
	case Resize:
		m.cols, m.rows = msg.Cols, msg.Rows
	case NoticeMsg:
		m.notice, m.noticed = notice{msg.Text, msg.Failed}, m.now
	case Tick:
		if !m.notice.failed && m.now.Sub(m.noticed) >= noticeTime {
			m.notice = notice{}
		}
	case UnsentMsg:
		m.addUnsent(msg)
	case AnsweredMsg:
		m.closeQuestion(msg.ID)
	case PageMsg:
		m.page.add(msg)
	case CompletionMsg:
		m.addCompletions(msg)
	case EditedMsg:
		m.addEdited(msg)
	case TextMsg:
		m.addText(msg)
	default:
		return m.fold(msg)
	}
	return nil
}

// press dispatches a key: to its row in the table of keys, else to the editor of the active dialog.
func (m *Model) press(k Key) []Effect {
	m.expected, m.sent = "", ""
	if b := m.findKey(m.mode(), k.Name); b != nil {
		m.noticed = m.now // a notice that is set again with the same text is a new one
		if m.isReady(b) {
			m.notice = notice{}
			return b.act(m, k.Name)
		}
		if m.mode()&dialogs == 0 {
			m.notice = notice{text: m.whyNot(b)}
			return nil
		}
	}
	if m.mode()&dialogs == 0 {
		return nil
	}
	if !m.typable() {
		if k.Text == "" {
			return nil
		}
		m.notice = m.notTypable()
		if m.mode() == inConfirm {
			return m.back()
		}
		return nil
	}
	if !m.input.edit(k.Name) {
		m.insert(k.Text)
	}
	m.typed()
	return nil
}

// insert adds typed or pasted text to the active dialog.
func (m *Model) insert(text string) {
	if m.mode()&dialogs != 0 && m.typable() {
		m.input.insert(text)
		m.dialog.option = -1
		m.typed()
	}
}

// typable reports whether the active dialog has a field.
func (m *Model) typable() bool {
	switch m.mode() {
	case inAnswer:
		return !m.dialog.question.NoText
	case inConfirm:
		return m.dialog.typed != ""
	default:
		return true
	}
}

// notTypable describes what the active dialog accepts instead of text.
func (m *Model) notTypable() notice {
	switch {
	case m.mode() == inConfirm:
		return notice{"nothing was done: only Enter confirms, any other key closes the dialog", true}
	case len(m.dialog.question.Options) > 0:
		return notice{"this question accepts only one of its options, no text", true}
	}
	return notice{"this question can be answered only at its terminal: press Esc, then Enter to attach", true}
}

// typed reacts to a changed text.
func (m *Model) typed() {
	switch m.mode() {
	case inFilter:
		m.filter = m.input.String()
		m.selectFirst()
	case inCommand:
		m.words = nil
	default:
	}
}

// moves returns the action that moves the selection or the page by a number of lines.
func moves(step int) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		m.move(step)
		return nil
	}
}

// scrolls returns the action that moves by half a page.
func scrolls(sign int) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		m.move(sign * max(1, layoutOf(m).body.h/2))
		return nil
	}
}

func (m *Model) move(step int) {
	switch m.mode() {
	case inPage:
		m.page.scroll(step, layoutOf(m).body.h)
	case inHelp:
		m.help = max(0, min(m.help+step, len(m.helpLines())-layoutOf(m).body.h))
	case inQueue:
		m.queue.selectAt(m.queue.position() + step)
	default:
		m.moveSelection(step)
	}
}

// moveSelection selects the agent that is step agents further in the list.
func (m *Model) moveSelection(step int) {
	if names := m.listed(); len(names) > 0 {
		at := slices.Index(names, m.selected)
		m.selectAgent(names[max(0, min(at+step, len(names)-1))])
	}
}

// selectFirst selects the first agent of the list if the selected one is not in the list any more.
func (m *Model) selectFirst() {
	m.lines = m.arranged()
	if names := m.listed(); len(names) > 0 && !slices.Contains(names, m.selected) {
		m.selectAgent(names[0])
	}
}

// selectAgent selects an agent.
func (m *Model) selectAgent(name string) {
	if m.selected != name {
		m.selected, m.shift = name, 0
	}
}

// pans returns the action that moves the screen of the agent sideways.
func pans(step int) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		limit := 0
		if s := m.screens[m.selected]; s != nil {
			limit = max(0, s.Cols-layoutOf(m).pane.w)
		}
		m.shift = max(0, min(m.shift+step, limit))
		return nil
	}
}

// nextNeed selects the next agent that needs a person, behind the selected one in the list. If the filter hides all of them, the filter is removed.
func (m *Model) nextNeed(string) []Effect {
	if !slices.ContainsFunc(m.lines, func(l line) bool { return l.agent != nil && m.conditions[l.agent.Name].tone == toneNeed }) {
		m.filter = ""
		m.lines = m.arranged()
	}
	at := m.position()
	for i := range m.lines {
		l := m.lines[(at+1+i)%len(m.lines)]
		if l.agent != nil && m.conditions[l.agent.Name].tone == toneNeed {
			m.selectAgent(l.agent.Name)
			break
		}
	}
	if m.panel()&agentPanels == 0 {
		m.modes = []mode{inList}
		return m.page.close()
	}
	return nil
}

func (m *Model) mark(string) []Effect {
	if m.marked[m.selected] {
		delete(m.marked, m.selected)
	} else {
		m.marked[m.selected] = true
	}
	m.moveSelection(1)
	return nil
}

func (m *Model) nextOrder(string) []Effect {
	m.sort = (m.sort + 1) % orders
	m.notice = notice{text: "sorted by " + orderNames[m.sort]}
	return nil
}

func (m *Model) toggleScreen(string) []Effect { return m.toggle(inScreen) }

func (m *Model) toggleWall(string) []Effect { return m.toggle(inWall) }

func (m *Model) toggleHelp(string) []Effect {
	m.help = 0
	return m.toggle(inHelp)
}

// toggle shows a panel, or the list if the panel is visible.
func (m *Model) toggle(to mode) []Effect {
	if m.mode() == to {
		m.modes = m.modes[:len(m.modes)-1]
		return nil
	}
	m.modes = slices.DeleteFunc(m.modes, func(at mode) bool { return at == to })
	m.open(to)
	return nil
}

// back closes the active dialog or panel. In the list it removes the filter, then the marks.
func (m *Model) back() []Effect {
	var effects []Effect
	switch at := m.mode(); {
	case len(m.modes) > 1:
		m.modes = m.modes[:len(m.modes)-1]
		switch at {
		case inFilter:
			m.filter = ""
		case inPage:
			effects = m.page.close()
		case inCommand:
			m.words = nil
		default:
		}
	case m.filter != "":
		m.filter = ""
	default:
		clear(m.marked)
	}
	return effects
}

func (m *Model) attach(string) []Effect { return []Effect{Attach{m.selected}} }

// point handles the mouse: a click presses the key of the place or selects its agent, and the wheel moves.
func (m *Model) point(e Mouse) []Effect {
	if e.Wheel != 0 {
		if m.mode()&panels != 0 {
			m.move(e.Wheel)
		}
		return nil
	}
	for _, z := range slices.Backward(m.zones) {
		if e.X < z.x || e.X >= z.x+z.w || e.Y < z.y || e.Y >= z.y+z.h {
			continue
		}
		switch {
		case z.key != "":
			return m.press(Key{Name: z.key})
		case z.prompt != "" && m.mode() == inQueue:
			m.queue.selected = z.prompt
		case m.mode()&agentPanels == 0:
		case z.agent == m.selected && z.again:
			return m.attach("")
		default:
			m.selectAgent(z.agent)
		}
		return nil
	}
	return nil
}

// zone is a part of the frame that a click acts on: it presses a key, or selects an agent or a prompt. A click on the selected agent
// attaches if again is set.
type zone struct {
	x, y, w, h int
	key        string
	agent      string
	prompt     string // an id
	again      bool
}
