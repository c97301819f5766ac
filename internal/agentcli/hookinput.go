package agentcli

import (
	"encoding/json"
	"fmt"
	"strings"
)

// HookInput is what an agent CLI sends to a hook, as JSON. A field that it does not send is zero.
type HookInput struct {
	SessionID      string          `json:"session_id"`
	TranscriptPath string          `json:"transcript_path"`
	Cwd            string          `json:"cwd"`
	Event          string          `json:"hook_event_name"`
	Mode           string          `json:"permission_mode"`
	Model          string          `json:"model"`
	Prompt         string          `json:"prompt"`
	Source         string          `json:"source"` // kind of a session's start: startup, resume, clear, compact
	Reason         string          `json:"reason"`
	ToolName       string          `json:"tool_name"`
	ToolInput      json.RawMessage `json:"tool_input"`
	ToolUseID      string          `json:"tool_use_id"`
	Error          json.RawMessage `json:"error"`
	Message        string          `json:"message"`
	Notice         string          `json:"notification_type"`
	LastMessage    string          `json:"last_assistant_message"`
	Request        json.RawMessage `json:"llm_request"` // the request to the model: only its texts, without tool calls and their results
	Background     json.RawMessage `json:"background_tasks"`
	AgentID        string          `json:"agent_id"` // ID of a sub-agent; empty for the agent itself
}

// The values of [HookInput.Source], [HookInput.Reason] and [HookInput.Notice] that gc uses.
const (
	HookSourceStartup = "startup"
	HookSourceResume  = "resume"
	HookSourceClear   = "clear"
	HookSourceCompact = "compact"
	HookNoticeIdle    = "idle_prompt"
)

// ParseHookInput parses an agent CLI's input to its hook.
func ParseHookInput(text []byte) (HookInput, error) {
	var in HookInput
	if err := json.Unmarshal(text, &in); err != nil {
		return HookInput{}, fmt.Errorf("cannot parse the input of the agent CLI: %w", err)
	}
	return in, nil
}

// PromptText returns the prompt that the agent CLI got. It removes the elements that the agent CLI
// adds around pasted text; each ends with a tag that has the ID of its start.
func (c Hooks) PromptText(in HookInput) string {
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

// BackgroundTasks returns how many background tasks still run after a turn has ended.
func (in HookInput) BackgroundTasks() int {
	var list []json.RawMessage
	if json.Unmarshal(in.Background, &list) == nil {
		return len(list)
	}
	return 0
}

// ErrorText returns the error in the input, as text for people.
func (in HookInput) ErrorText() string {
	var text string
	if json.Unmarshal(in.Error, &text) == nil {
		return text
	}
	return string(in.Error)
}
