package transcript

import (
	"encoding/json"
	"strings"

	"gascity/client"
)

// rollout parses [agentcli.TranscriptRollout]: the items of the model's interface, between events.
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

// rolloutContext are the beginnings of texts that the agent CLI itself adds as the user.
var rolloutContext = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<permissions", "<INSTRUCTIONS>", "<skills", "<model_switch>", "<user_shell_command>", "<apps_",
}

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

// rolloutPrompt adds the texts of a message of the user that the agent CLI has not added.
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

// rolloutOutput returns the text of a tool's output and whether the tool failed.
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

// exitStatus reports whether the output names an exit status other than zero in its first lines.
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
