package tui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"gascity/client"
)

// fold adds what the city reports to the state. It returns what is to be loaded.
func (m *Model) fold(msg Msg) []Effect {
	switch msg := msg.(type) {
	case StatusMsg:
		m.setStatus(msg.Status)
	case QuestionsMsg:
		m.setQuestions(msg.Questions)
	case PromptsMsg:
		for _, r := range msg.Prompts {
			m.addPrompt(r)
		}
	case EventMsg:
		return m.foldEvent(msg.Event)
	case QueueMsg:
		m.setQueue(msg)
	case CostsMsg:
		m.costs = msg.Costs
	case LinkMsg:
		m.foldLink(msg)
		if msg.Err == nil && m.showsQueue() {
			return []Effect{LoadQueue{}}
		}
	case ScreenMsg:
		m.foldScreen(msg)
	}
	return nil
}

func (m *Model) foldLink(msg LinkMsg) {
	if msg.Err == nil {
		m.link = link{}
		return
	}
	m.link = link{away: cmp.Or(m.link.away, m.now), cause: msg.Err.Error()}
}

func (m *Model) foldScreen(msg ScreenMsg) {
	if msg.Screen != nil {
		m.screens[msg.Agent] = msg.Screen
		delete(m.noScreen, msg.Agent)
		return
	}
	delete(m.screens, msg.Agent)
	m.noScreen[msg.Agent] = ""
	if msg.Err != nil {
		m.noScreen[msg.Agent] = msg.Err.Error()
	}
}

func (m *Model) setQuestions(all []client.Pending) {
	m.questions = slices.DeleteFunc(slices.Clone(all), func(q client.Pending) bool { return m.closed[q.ID] })
	slices.SortStableFunc(m.questions, func(a, b client.Pending) int { return a.Since.Compare(b.Since) })
	m.checkDialog()
}

// closeQuestion removes a question, before the city is asked again.
func (m *Model) closeQuestion(id string) {
	if len(m.closed) > 1000 {
		clear(m.closed)
	}
	m.closed[id] = true
	m.questions = slices.DeleteFunc(m.questions, func(q client.Pending) bool { return q.ID == id })
	m.checkDialog()
}

// checkDialog closes the dialog of a question that has ended elsewhere, and opens the question that the person has asked for.
func (m *Model) checkDialog() {
	if m.expected != "" && m.expected == m.selected && m.mode()&agentPanels != 0 && m.question(m.expected) != nil {
		m.expected, m.notice = "", notice{}
		m.openAnswer("")
	}
	if m.mode() != inAnswer {
		return
	}
	i := slices.IndexFunc(m.questions, func(q client.Pending) bool { return q.ID == m.dialog.question.ID })
	if i < 0 {
		m.back()
		m.notice = notice{text: "the question of " + m.dialog.question.Agent + " is closed"}
		return
	}
	m.dialog.question = m.questions[i] // an event has only the beginning of its text
	m.dialog.option = min(m.dialog.option, len(m.dialog.question.Options)-1)
	m.dialog.equal = slices.DeleteFunc(m.dialog.equal, func(q client.Pending) bool { // what has ended, or is not equal any more, gets no answer
		at := slices.IndexFunc(m.questions, func(known client.Pending) bool { return known.ID == q.ID })
		return at < 0 || identity(&m.questions[at]) != identity(&m.dialog.question)
	})
}

// addPrompt stores a receipt if it is the newest of its agent.
func (m *Model) addPrompt(r client.Receipt) {
	known, ok := m.prompts[r.Agent]
	if ok && (known.CreatedAt.After(r.CreatedAt) || known.ID == r.ID && known.UpdatedAt.After(r.UpdatedAt)) {
		return
	}
	m.prompts[r.Agent] = r
}

// foldEvent applies an event before the state is loaded again.
func (m *Model) foldEvent(e client.Event) []Effect {
	family, what, _ := strings.Cut(e.Kind, ".")
	switch family {
	case "pending":
		return m.foldQuestion(e, what)
	case "prompt":
		return m.foldPrompt(e, what)
	}
	return nil
}

func (m *Model) foldPrompt(e client.Event, what string) []Effect {
	var effects []Effect
	if m.showsQueue() {
		effects = append(effects, LoadQueue{})
	}
	id := e.Data["receipt"]
	known, ok := m.prompts[e.Agent]
	if ok && known.ID == id {
		known.State, known.Reason, known.UpdatedAt = what, e.Data["reason"], e.Time
		m.prompts[e.Agent] = known
	} else if what == client.ReceiptAccepted && id != "" {
		effects = append(effects, LoadPrompt{id})
	}
	return effects
}

func (m *Model) foldQuestion(e client.Event, what string) []Effect {
	id := e.Data["id"]
	switch what {
	case client.PendingAnswered, client.PendingResolved, client.PendingExpired, client.PendingGone:
		m.closeQuestion(id)
	case "raised":
		if m.closed[id] || slices.ContainsFunc(m.questions, func(q client.Pending) bool { return q.ID == id }) {
			return nil
		}
		q := client.Pending{ID: id, Agent: e.Agent, Session: e.Session, Instance: e.Data["instance"], Kind: e.Data["kind"], Prompt: e.Data["prompt"], Tool: e.Data["tool"], Since: e.Time}
		if err := json.Unmarshal([]byte(e.Data["options"]), &q.Options); err != nil {
			q.Options = nil // the event was cut; the question is loaded
		}
		m.questions = append(m.questions, q)
		m.checkDialog()
		return []Effect{LoadQuestions{}}
	case "escalated":
		return []Effect{LoadQuestions{}}
	}
	return nil
}
