package acp

import "encoding/json"

// UpdateParams are what an agent tells during and between turns.
type UpdateParams struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// The kinds of updates that have a meaning here; there are others.
const (
	UpdateUserMessage  = "user_message_chunk"
	UpdateAgentMessage = "agent_message_chunk"
	UpdateAgentThought = "agent_thought_chunk"
	UpdateToolCall     = "tool_call"
	UpdateToolChange   = "tool_call_update"
	UpdatePlan         = "plan"
	UpdateMode         = "current_mode_update"
	UpdateOptions      = "config_option_update"
	UpdateUsage        = "usage_update"
)

// The ends of a tool call, by its status.
const (
	ToolCompleted = "completed"
	ToolFailed    = "failed"
)

// Update is one of them. What its kind does not have is empty; what cannot be read is
// left out, so that drift in one member loses no other.
type Update struct {
	Kind    string
	Content Block       // of the chunks
	Tool    ToolCall    // of the tool calls
	Plan    []PlanEntry // of the plan
	Mode    string      // of current_mode_update, and of config_option_update if that tells it
	Window  Window      // of usage_update
	Raw     json.RawMessage
}

// PlanEntry is a step of a plan.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// ToolCall is the use of a tool.
type ToolCall struct {
	ID       string          `json:"toolCallId"`
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Kind     string          `json:"kind"`
	Status   string          `json:"status"`
	RawInput json.RawMessage `json:"rawInput"`
	Texts    []string        `json:"-"` // of its content
}

// UnmarshalJSON reads what it can.
func (u *Update) UnmarshalJSON(raw []byte) error {
	*u = Update{Raw: append(json.RawMessage(nil), raw...)}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	read(m["sessionUpdate"], &u.Kind)
	switch u.Kind {
	case UpdateToolCall, UpdateToolChange:
		u.Tool = toolOf(m)
	case UpdatePlan:
		read(m["entries"], &u.Plan)
	case UpdateMode:
		if read(m["currentModeId"], &u.Mode); u.Mode == "" {
			read(m["modeId"], &u.Mode)
		}
	case UpdateOptions:
		u.Mode = modeOf(m["configOptions"])
	case UpdateUsage:
		read(m["used"], &u.Window.Used)
		read(m["size"], &u.Window.Size)
	default:
		read(m["content"], &u.Content)
	}
	return nil
}

// read reads a member whose shape may have changed.
func read(raw json.RawMessage, into any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, into) // another shape says nothing to us
	}
}

func toolOf(m map[string]json.RawMessage) ToolCall {
	var t ToolCall
	read(m["toolCallId"], &t.ID)
	read(m["name"], &t.Name)
	read(m["title"], &t.Title)
	read(m["kind"], &t.Kind)
	read(m["status"], &t.Status)
	t.RawInput = m["rawInput"]
	var parts []json.RawMessage
	read(m["content"], &parts)
	for _, raw := range parts {
		var part struct {
			Type    string `json:"type"`
			Path    string `json:"path"`
			Content Block  `json:"content"`
		}
		read(raw, &part)
		switch {
		case part.Content.Text != "":
			t.Texts = append(t.Texts, part.Content.Text)
		case part.Path != "":
			t.Texts = append(t.Texts, part.Type+" "+part.Path)
		}
	}
	return t
}

// UnmarshalJSON reads what it can.
func (t *ToolCall) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*t = toolOf(m)
	return nil
}
