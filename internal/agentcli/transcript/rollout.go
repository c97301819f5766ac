package transcript

import (
	"encoding/json"
	"strings"

	"gascity/client"
)

// rollout parses the format [agentcli.TranscriptRollout]: the items that are exchanged with the
// model, and events between them.
type rollout struct{}

type rolloutRecord struct {
	Type      string         `json:"type"`
	Timestamp moment         `json:"timestamp"`
	Payload   rolloutPayload `json:"payload"`
}

type rolloutPayload struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	Summary   content         `json:"summary"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Message   json.RawMessage `json:"message"`
}

// rolloutContext are the beginnings of texts that are recorded as messages of the user but come
// from the agent CLI itself.
var rolloutContext = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<permissions", "<INSTRUCTIONS>", "<skills", "<model_switch>", "<user_shell_command>", "<apps_",
}

// line adds what one line says to l. It implements parser.
func (*rollout) line(text []byte, l *list) error {
	var r rolloutRecord
	if err := decode(text, &r); err != nil {
		return err
	}
	at, p := r.Timestamp.Time, &r.Payload
	switch r.Type {
	case "response_item":
		rolloutItem(&r, l)
	case "compacted":
		l.text(client.EntryCompaction, at, plain(p.Message))
	case "event_msg":
		switch p.Type {
		case "turn_aborted":
			l.text(client.EntryNotice, at, "interrupted")
		case "error", "stream_error":
			l.text(client.EntryError, at, plain(p.Message))
		}
	}
	return nil
}

// rolloutItem adds an item that was exchanged with the model: a message, its thoughts, or a tool
// call or its result.
func rolloutItem(r *rolloutRecord, l *list) {
	at, p := r.Timestamp.Time, &r.Payload
	switch p.Type {
	case "message":
		switch p.Role {
		case "assistant":
			l.text(client.EntryAnswer, at, p.Content.text())
		case "user":
			rolloutPrompt(p.Content, r, l)
		}
	case "reasoning":
		l.text(client.EntryThinking, at, p.Summary.text())
	case "function_call":
		l.call(p.CallID, at, p.Name, p.Arguments)
	case "custom_tool_call":
		l.call(p.CallID, at, p.Name, p.Input)
	case "local_shell_call":
		l.call(p.CallID, at, "shell", p.Action)
	case "web_search_call":
		l.call(p.CallID, at, "web_search", p.Action)
		l.result(p.CallID, "", false)
	case "function_call_output", "custom_tool_call_output":
		output, failed := rolloutOutput(p.Output)
		l.result(p.CallID, output, failed)
	}
}

// rolloutPrompt adds a message of the user as a prompt, without the texts that the agent CLI itself
// has added to it.
func rolloutPrompt(c content, r *rolloutRecord, l *list) {
	var kept content
	for _, p := range c {
		own := true
		for _, beginning := range rolloutContext {
			if strings.HasPrefix(strings.TrimSpace(p.Text), beginning) {
				own = false
			}
		}
		if own {
			kept = append(kept, p)
		}
	}
	l.prompt(r.Timestamp.Time, kept.text())
}

// rolloutOutput returns what a tool returned, as text, and whether the tool failed.
func rolloutOutput(raw json.RawMessage) (text string, failed bool) {
	var whole struct {
		Content  content `json:"content"`
		Output   string  `json:"output"`
		Success  *bool   `json:"success"`
		Metadata struct {
			ExitCode int `json:"exit_code"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &text) == nil {
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &whole) == nil && whole.Output != "" {
			return whole.Output, whole.Metadata.ExitCode != 0
		}
		return text, exitStatus(text)
	}
	if json.Unmarshal(raw, &whole) == nil {
		text = whole.Content.text()
		if text == "" {
			text = whole.Output
		}
		return text, whole.Success != nil && !*whole.Success || exitStatus(text)
	}
	var list content
	if json.Unmarshal(raw, &list) == nil {
		return list.text(), exitStatus(list.text())
	}
	return "", false
}

// exitStatus reports whether the first lines of a tool's output say that the command exited with a
// status other than zero.
func exitStatus(text string) bool {
	for line := range strings.Lines(text[:min(len(text), 400)]) {
		for _, beginning := range []string{"Exit code: ", "Process exited with code "} {
			if status, ok := strings.CutPrefix(strings.TrimSpace(line), beginning); ok {
				return status != "0"
			}
		}
	}
	return false
}
