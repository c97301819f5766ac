package transcript

import (
	"encoding/json"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli"
)

// folded parses the format [agentcli.TranscriptFolded]: a message is written again, as a new line,
// when it changes.
type folded struct {
	known map[string]bool // IDs of messages that were shown
}

type foldedMessage struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Timestamp moment  `json:"timestamp"`
	Content   content `json:"content"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Calls []foldedCall `json:"toolCalls"`
}

type foldedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Status    string          `json:"status"`
	Timestamp moment          `json:"timestamp"`
	Result    json.RawMessage `json:"result"`
	Shown     json.RawMessage `json:"resultDisplay"`
}

// line adds what one line says to l. It implements parser.
func (f *folded) line(text []byte, l *list) error {
	var r struct {
		foldedMessage

		Set struct {
			Messages []foldedMessage `json:"messages"`
		} `json:"$set"`
	}
	if err := decode(text, &r); err != nil {
		return err
	}
	if r.ID != "" {
		f.message(&r.foldedMessage, l)
	}
	for i := range r.Set.Messages {
		f.rewritten(r.Set.Messages, i, l)
	}
	return nil
}

// rewritten adds the message at the index i of a list that replaces all messages of the
// conversation, for example after a compaction. Messages that l already has are only updated.
func (f *folded) rewritten(all []foldedMessage, i int, l *list) {
	m := &all[i]
	switch {
	case f.known[m.ID]:
		f.message(m, l)
	case agentcli.IsCompactionAnswer(m.Content.text()):
		l.text(client.EntryCompaction, m.Timestamp.Time, "")
		if i > 0 {
			l.replace(&l.entries[len(l.entries)-1], all[i-1].Content.text())
			f.known[all[i-1].ID] = true
		}
		f.known[m.ID] = true
	case i+1 < len(all) && agentcli.IsCompactionAnswer(all[i+1].Content.text()):
	default:
		f.message(m, l)
	}
}

// message adds a message, or updates the entries of a message that l already has.
func (f *folded) message(m *foldedMessage, l *list) {
	at := m.Timestamp.Time
	key := "text " + m.ID
	switch m.Type {
	case "user":
		if !f.known[m.ID] {
			l.prompt(at, m.Content.text())
		}
	case "error", "warning":
		if !f.known[m.ID] {
			l.text(client.EntryError, at, m.Content.text())
		}
	case "info":
		if !f.known[m.ID] {
			l.text(client.EntryNotice, at, m.Content.text())
		}
	case "": // a header
		return
	default: // of the model
		if f.known[m.ID] && agentcli.IsCompactionAnswer(m.Content.text()) {
			return // a part of a compaction, written again
		}
		f.answer(m, key, l)
	}
	f.known[m.ID] = true
}

// answer adds a message of the model: its thoughts, its text and its tool calls. key is the key of
// the entry with the text.
func (f *folded) answer(m *foldedMessage, key string, l *list) {
	at := m.Timestamp.Time
	if !f.known[m.ID] {
		var thoughts []string
		for _, t := range m.Thoughts {
			thoughts = append(thoughts, strings.TrimSpace(t.Subject+"\n"+t.Description))
		}
		l.text(client.EntryThinking, at, strings.Join(thoughts, "\n"))
	}
	text := m.Content.text()
	switch e := l.find(key); {
	case e != nil:
		l.replace(e, text)
	case strings.TrimSpace(text) != "" && !f.known[key]:
		l.text(client.EntryAnswer, at, text)
		l.keys[key] = l.entries[len(l.entries)-1].ID
		f.known[key] = true
	}
	for _, c := range m.Calls {
		if !f.known["call "+c.ID] {
			l.call(c.ID, c.Timestamp.Time, c.Name, c.Args)
			f.known["call "+c.ID] = true
		}
		switch c.Status {
		case "success", "error", "cancelled":
			l.result(c.ID, foldedResult(&c), c.Status != "success")
		}
	}
}

// foldedResult returns what a tool call returned, as text: the outputs and errors in its result, otherwise what the agent CLI showed.
func foldedResult(c *foldedCall) string {
	var parts []struct {
		Response struct {
			Response struct {
				Output json.RawMessage `json:"output"`
				Error  json.RawMessage `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	var texts []string
	if json.Unmarshal(c.Result, &parts) == nil {
		for _, p := range parts {
			for _, raw := range []json.RawMessage{p.Response.Response.Output, p.Response.Response.Error} {
				if text := plain(raw); text != "" {
					texts = append(texts, text)
				}
			}
		}
	}
	if len(texts) == 0 {
		return plain(c.Shown)
	}
	return strings.Join(texts, "\n")
}
