package transcript

import "gascity/client"

// tree parses the format [agentcli.TranscriptTree]: each entry has the ID of its parent. The entries of branches that the
// conversation no longer follows are shown too, in the order of the file.
type tree struct{}

type treeRecord struct {
	Type      string `json:"type"`
	Timestamp moment `json:"timestamp"`
	Summary   string `json:"summary"`
	Message   struct {
		Role       string  `json:"role"`
		Content    content `json:"content"`
		StopReason string  `json:"stopReason"`
		Error      string  `json:"errorMessage"`
		CallID     string  `json:"toolCallId"`
		IsError    bool    `json:"isError"`
		Command    string  `json:"command"`
		Output     string  `json:"output"`
		Summary    string  `json:"summary"`
	} `json:"message"`
}

// line adds what one line says to l. It implements parser.
func (*tree) line(text []byte, l *list) error {
	var r treeRecord
	if err := decode(text, &r); err != nil {
		return err
	}
	at, m := r.Timestamp.Time, &r.Message
	switch r.Type {
	case "compaction":
		l.text(client.EntryCompaction, at, r.Summary)
		return nil
	case "message":
	default:
		return nil
	}
	switch m.Role {
	case "user":
		l.prompt(at, m.Content.text())
	case "assistant":
		treeAnswer(&r, l)
	case "toolResult":
		l.result(m.CallID, m.Content.text(), m.IsError)
	case "bashExecution":
		l.text(client.EntryNotice, at, "! "+m.Command+"\n"+m.Output)
	}
	return nil
}

// treeAnswer adds a message of the model: its text, its thoughts and its tool calls.
func treeAnswer(r *treeRecord, l *list) {
	at := r.Timestamp.Time
	for _, p := range r.Message.Content {
		switch p.Type {
		case "text":
			l.text(client.EntryAnswer, at, p.Text)
		case "thinking":
			l.text(client.EntryThinking, at, p.Thinking)
		case "toolCall":
			l.call(p.ID, at, p.Name, p.Arguments)
		}
	}
	switch r.Message.StopReason {
	case "error":
		l.text(client.EntryError, at, r.Message.Error)
	case "aborted":
		l.text(client.EntryNotice, at, "interrupted")
	}
}
