package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"gascity/client"
)

// RecordSuffix is the end of the name of a session's record; before it is the session's name.
const RecordSuffix = ".conversation.jsonl"

// Line is one line of gc's own record of a conversation, [agentcli.TranscriptRecord]. The program that speaks a protocol
// with an agent writes it, because such an agent has no transcript that gc knows.
type Line struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"` // a kind of [client.ConversationEntry]
	Text   string    `json:"text,omitempty"`
	More   bool      `json:"more,omitempty"`   // the text continues that of the last line
	ID     string    `json:"id,omitempty"`     // of a tool call
	Tool   string    `json:"tool,omitempty"`   // name of the tool, once
	Input  string    `json:"input,omitempty"`  // its most important argument
	Result string    `json:"result,omitempty"` // what the tool returned so far
	Status string    `json:"status,omitempty"` // done or failed when the tool call has ended
}

// record parses the format [agentcli.TranscriptRecord].
type record struct {
	breaks string // the line ends at the end of the last text: an entry is shown without them
}

// line adds what one line says to l. It implements parser.
func (p *record) line(text []byte, l *list) error {
	var r Line
	if err := decode(text, &r); err != nil {
		return err
	}
	if r.Time.Year() < 1970 || r.Time.Year() > 9999 {
		r.Time = time.Time{}
	}
	switch r.Kind {
	case client.EntryPrompt:
		l.prompt(r.Time, r.Text)
	case client.EntryAnswer, client.EntryThinking:
		if n := len(l.entries); r.More && n > 0 && l.entries[n-1].Kind == r.Kind {
			l.join(&l.entries[n-1], p.breaks+r.Text)
			p.setBreaks(p.breaks + r.Text)
			return nil
		}
		p.setBreaks(r.Text)
		l.text(r.Kind, r.Time, r.Text)
	case client.EntryError, client.EntryNotice, client.EntryCompaction:
		l.text(r.Kind, r.Time, r.Text)
	case client.EntryTool:
		input, err := json.Marshal(r.Input)
		if err != nil {
			return err
		}
		if e := l.find(r.ID); e == nil {
			l.call(r.ID, r.Time, r.Tool, input)
		} else if r.Input != "" {
			l.describe(e, r.Tool, input)
		}
		switch r.Status {
		case client.ToolDone, client.ToolFailed:
			l.result(r.ID, r.Result, r.Status == client.ToolFailed)
		}
	}
	return nil
}

// setBreaks stores the line ends at the end of a text, which the entry does not have. They are added if the text continues in the
// next line.
func (p *record) setBreaks(text string) { p.breaks = text[len(strings.TrimRight(text, "\n")):] }
