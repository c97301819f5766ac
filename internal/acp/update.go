package acp

import (
	"encoding/json"
	"slices"
)

// UpdateParams are the updates of an agent during and between turns.
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

// The kinds that the draft has beside those: whole messages, pieces of what a tool gives, plans
// with a name, and what the session does.
const (
	UpdateUserWhole    = "user_message"
	UpdateAgentWhole   = "agent_message"
	UpdateThoughtWhole = "agent_thought"
	UpdateToolContent  = "tool_call_content_chunk"
	UpdateNamedPlan    = "plan_update"
	UpdateState        = "state_update"
)

// The states of a session, of the draft; there may be others.
const (
	StateRunning        = "running"
	StateIdle           = "idle"
	StateRequiresAction = "requires_action"
)

// The ends of a tool call, by its status.
const (
	ToolCompleted = "completed"
	ToolFailed    = "failed"
)

// The kinds of tools, of those that have a meaning here.
const (
	KindRead    = "read"
	KindEdit    = "edit"
	KindDelete  = "delete"
	KindMove    = "move"
	KindSearch  = "search"
	KindExecute = "execute"
	KindFetch   = "fetch"
)

// Update is one of them. What its kind does not have is empty; what cannot be read is
// left out, so that drift in one member loses no other.
type Update struct {
	Kind    string
	Message string      // the chunk's or the whole message's id, if it has one
	Content Block       // of the chunks; of a whole message the text of all its blocks
	Tool    ToolCall    // of the tool calls
	Plan    []PlanEntry // of the plan
	Mode    string      // of current_mode_update, and of config_option_update if that has it
	Window  Window      // of usage_update
	State   State       // of state_update
	Raw     json.RawMessage
}

// State is what a session does, of the draft. The rest is reported when foreground work
// ends.
type State struct {
	State      string
	Background int // how much work goes on beside it
	Result     PromptResult
	Error      *Error // that ended the work
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
	Paths    []string        `json:"-"` // of the files that it is about, by its locations and differences
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
		var options Options
		read(m["configOptions"], &options)
		mode, _ := options.Mode()
		u.Mode = mode.Value
	case UpdateUsage:
		read(m["used"], &u.Window.Used)
		read(m["size"], &u.Window.Size)
	case UpdateToolContent:
		u.Tool = toolOf(map[string]json.RawMessage{"toolCallId": m["toolCallId"], "content": listOf(m["content"])})
	case UpdateNamedPlan:
		var plan struct {
			Entries []PlanEntry `json:"entries"`
		}
		read(m["plan"], &plan)
		u.Plan = plan.Entries
	case UpdateState:
		u.State = stateOf(m)
	case UpdateUserWhole, UpdateAgentWhole, UpdateThoughtWhole:
		read(m["messageId"], &u.Message)
		var blocks []json.RawMessage
		read(m["content"], &blocks)
		for _, raw := range blocks {
			var b Block
			read(raw, &b)
			u.Content.Text += b.Text
		}
	default:
		read(m["messageId"], &u.Message)
		read(m["content"], &u.Content)
	}
	return nil
}

// listOf returns a list of one member.
func listOf(raw json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage("["), raw...), ']')
}

func stateOf(m map[string]json.RawMessage) (s State) {
	read(m["state"], &s.State)
	var background []json.RawMessage
	read(m["background"], &background)
	s.Background = len(background)
	read(m["stopReason"], &s.Result.StopReason)
	s.Result.Usage, s.Result.Meta = m["usage"], m["_meta"]
	read(m["error"], &s.Error)
	return s
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
	if t.RawInput = m["rawInput"]; isNull(t.RawInput) {
		t.RawInput = nil
	}
	var places []struct {
		Path string `json:"path"`
	}
	read(m["locations"], &places)
	for _, p := range places {
		t.addPath(p.Path)
	}
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
			t.addPath(part.Path)
		}
	}
	return t
}

func (t *ToolCall) addPath(path string) {
	if path != "" && !slices.Contains(t.Paths, path) {
		t.Paths = append(t.Paths, path)
	}
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
