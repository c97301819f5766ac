package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Input is what an agent CLI sends to a hook, in common names. What one does not
// send is zero.
type Input struct {
	SessionID      string          `json:"session_id"`
	TranscriptPath string          `json:"transcript_path"`
	Cwd            string          `json:"cwd"`
	Event          string          `json:"hook_event_name"`
	Mode           string          `json:"permission_mode"`
	Model          string          `json:"model"`
	Prompt         string          `json:"prompt"`
	Source         string          `json:"source"` // of the beginning of a session: startup, resume, clear, compact
	Reason         string          `json:"reason"`
	ToolName       string          `json:"tool_name"`
	ToolInput      json.RawMessage `json:"tool_input"`
	ToolUseID      string          `json:"tool_use_id"`
	Error          json.RawMessage `json:"error"`
	Message        string          `json:"message"`
	Notice         string          `json:"notification_type"`
	LastMessage    string          `json:"last_assistant_message"`
	Background     json.RawMessage `json:"background_tasks"`
	AgentID        string          `json:"agent_id"` // of a sub-agent; empty for the agent itself
}

// The words of [Input.Source], [Input.Reason] and [Input.Notice] that matter.
const (
	SourceStartup = "startup"
	SourceResume  = "resume"
	SourceClear   = "clear"
	SourceCompact = "compact"
	NoticeIdle    = "idle_prompt"
)

// ParseInput reads what an agent CLI wrote to its hook.
func ParseInput(text []byte) (Input, error) {
	var in Input
	if err := json.Unmarshal(text, &in); err != nil {
		return Input{}, fmt.Errorf("the input of the agent CLI cannot be read: %w", err)
	}
	return in, nil
}

// PromptText returns the prompt as it was given to the agent CLI: without the elements that
// it puts around what was pasted, whose ends repeat their id.
func (c CLI) PromptText(in Input) string {
	if c.Pasted == "" {
		return in.Prompt
	}
	var text strings.Builder
	rest := in.Prompt
	for {
		before, pasted, found := strings.Cut(rest, "<"+c.Pasted+" id=\"")
		id, pasted, opened := strings.Cut(pasted, "\">")
		inside, after, closed := strings.Cut(pasted, "</"+c.Pasted+" id=\""+id+"\">")
		if !found || !opened || !closed {
			text.WriteString(rest)
			return text.String()
		}
		text.WriteString(before + inside)
		rest = after
	}
}

// BackgroundTasks returns how many tasks still run behind an ended turn.
func (in Input) BackgroundTasks() int {
	var list []json.RawMessage
	if json.Unmarshal(in.Background, &list) == nil {
		return len(list)
	}
	return 0
}

// ErrorText returns the error for people.
func (in Input) ErrorText() string {
	var text string
	if json.Unmarshal(in.Error, &text) == nil {
		return text
	}
	return string(in.Error)
}
