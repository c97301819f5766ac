package notify

import (
	"fmt"
	"strings"
	"time"

	"gascity/internal/domain/notification"
	"gascity/internal/redact"
	"gascity/internal/textfmt"
)

// The maximum sizes of the texts of a message, in bytes.
const (
	maxText   = 16 << 10 // of a question, and of the whole text
	maxLabel  = 1 << 10  // of an option
	maxLine   = 300      // of a title
	maxOption = 50       // number of options
)

// Message is what a sink gets. Its texts have no control characters and no invisible characters, and secrets are masked.
type Message struct {
	ID     string `json:"id"` // the same for each try
	City   string `json:"city"`
	Title  string `json:"title"` // one line
	Text   string `json:"text"`  // what the agent asks, the options, and other details
	Link   string `json:"link,omitempty"`
	Urgent bool   `json:"urgent"` // an agent needs a person
	Items  []Item `json:"items"`  // one, or several that are sent as one message

	// Buttons are the answer buttons: none, or one for each option of the only item. They are secrets, so only sinks with
	// answer = true get them.
	Buttons  []Button `json:"-"`
	AnswerTo string   `json:"-"` // the address to which a button sends its answer by POST; empty: there is none
	// Sent is what a sink that can change its messages has sent; nil: it cannot, or it has sent nothing.
	Sent *SentMessage `json:"-"`

	Questions int `json:"-"` // the number of open questions of the city, for the badge of an application
}

// Button is an answer button of a message.
type Button struct {
	Label string // number and text of the option, cleaned
	Token string
}

// maxButton is the maximum number of characters of the text of a button.
const maxButton = 40

// Item is one subject of a message.
type Item struct {
	Kind     string    `json:"kind"`
	Agent    string    `json:"agent,omitempty"`
	Session  string    `json:"session,omitempty"`
	Question string    `json:"question,omitempty"` // the id for gc respond
	Title    string    `json:"title"`
	Prompt   string    `json:"prompt,omitempty"`
	Options  []string  `json:"options,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	Input    string    `json:"input,omitempty"`
	Since    time.Time `json:"since"`
	Link     string    `json:"link,omitempty"`
}

// itemOf returns the part of a message that is about one subject, such as one question of an agent, without the details of that
// question.
func itemOf(s notification.Subject) Item {
	return Item{Kind: string(s.Kind), Agent: s.Agent, Session: s.Session, Question: s.Question, Title: title(s), Prompt: s.Text, Since: s.Since}
}

// title returns one line about a subject, for the title of a message.
func title(s notification.Subject) string {
	switch s.Kind {
	case notification.Question:
		return s.Agent + " asks a question"
	case notification.Permission:
		return s.Agent + " asks for permission"
	case notification.Login:
		return s.Agent + " needs a login"
	case notification.Limit:
		return s.Agent + " has reached a usage limit"
	case notification.Input:
		return s.Agent + " needs your help"
	case notification.Overdue:
		return s.Agent + " still waits for an answer"
	case notification.Quarantine:
		return s.Agent + " failed too often and is stopped"
	case notification.Budget:
		return "the budget " + s.Name + " is used up"
	case notification.Turn:
		return fmt.Sprintf("%s finished a turn of %s", s.Agent, textfmt.Duration(s.Took))
	case notification.Exit:
		return s.Agent + " exited"
	case notification.Prompt:
		return "a prompt for " + s.Agent + " cannot be delivered"
	}
	return s.Agent + " needs you"
}

// clean returns a text of an agent in a form that is safe in a message: secrets are masked, control and invisible characters are
// replaced, and the text is cut to limit bytes.
func clean(secrets *redact.Redactor, text string, limit int) string {
	text = textfmt.Block(secrets.Text(strings.ReplaceAll(text, "\r\n", "\n")))
	if len(text) > limit {
		text = textfmt.Truncate(text, limit-len("…")) + "…"
	}
	return text
}

// render fills in the title and the text of the message from its items, after it has made their texts safe with clean. link
// returns the address of an agent or question in the web console.
func (m *Message) render(secrets *redact.Redactor, link func(agent, question string) string) {
	m.City = textfmt.OneLine(m.City)
	for i := range m.Items {
		it := &m.Items[i]
		it.Title = textfmt.OneLine(clean(secrets, it.Title, maxLine))
		it.Prompt, it.Input = clean(secrets, it.Prompt, maxText), clean(secrets, it.Input, maxText)
		it.Tool = clean(secrets, it.Tool, maxLabel)
		it.Options = append([]string(nil), it.Options[:min(len(it.Options), maxOption)]...)
		for j := range it.Options {
			it.Options[j] = textfmt.OneLine(clean(secrets, it.Options[j], maxLabel))
		}
		it.Link = link(it.Agent, it.Question)
		m.Urgent = m.Urgent || notification.Kind(it.Kind).Group() == notification.NeedsMe
	}
	if len(m.Items) == 1 {
		it := m.Items[0]
		m.Title, m.Text, m.Link = it.Title, clean(secrets, it.body(), maxText), it.Link
	} else {
		m.Title, m.Link = summary(m.Items), link("", "")
		var lines []string
		for i := range m.Items {
			it := &m.Items[i]
			first, _, _ := strings.Cut(strings.TrimSpace(it.Prompt), "\n")
			lines = append(lines, it.Title+": "+textfmt.Bound(first, 200))
		}
		m.Text = clean(secrets, strings.Join(lines, "\n"), maxText)
	}
	if m.City != "" {
		m.Title += " (" + m.City + ")"
	}
}

// body returns the text about one item.
func (it *Item) body() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(it.Prompt))
	if it.Tool != "" {
		fmt.Fprintf(&b, "\n%s %s", it.Tool, it.Input)
	}
	for i, option := range it.Options {
		fmt.Fprintf(&b, "\n%d. %s", i+1, option)
	}
	if it.Question != "" {
		fmt.Fprintf(&b, "\ngc respond %s …", it.Question)
	}
	return strings.TrimSpace(b.String())
}

// summary returns the title of a message with several items.
func summary(items []Item) string {
	agents := map[string]bool{}
	urgent := 0
	for i := range items {
		if notification.Kind(items[i].Kind).Group() == notification.NeedsMe {
			agents[items[i].Agent] = true
			urgent++
		}
	}
	switch {
	case urgent == 0:
		return textfmt.Count(len(items), "notification") + " from your agents"
	case agents[""]: // a budget of the city
		return textfmt.Count(urgent, "notification") + " for you"
	case len(agents) == 1:
		return "1 agent needs you"
	}
	return textfmt.Count(len(agents), "agent") + " need you"
}
