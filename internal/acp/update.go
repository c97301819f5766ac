package acp

import (
	"encoding/json"
	"slices"
)

// UpdateParams are the parameters of a notification with which an agent reports what it does.
type UpdateParams struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// The kinds of updates that are used. There are others.
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

// Further kinds of updates in the draft: whole messages, chunks of tool content, named plans, and the state of the session.
const (
	UpdateUserWhole    = "user_message"
	UpdateAgentWhole   = "agent_message"
	UpdateThoughtWhole = "agent_thought"
	UpdateToolContent  = "tool_call_content_chunk"
	UpdateNamedPlan    = "plan_update"
	UpdateState        = "state_update"
)

// The states of a session in the draft. There may be others.
const (
	StateRunning        = "running"
	StateIdle           = "idle"
	StateRequiresAction = "requires_action"
)

// The statuses of a tool call that has ended.
const (
	ToolCompleted = "completed"
	ToolFailed    = "failed"
)

// The kinds of tools that are used.
const (
	KindRead    = "read"
	KindEdit    = "edit"
	KindDelete  = "delete"
	KindMove    = "move"
	KindSearch  = "search"
	KindExecute = "execute"
	KindFetch   = "fetch"
)

// Update is what an agent reports. Fields that its kind does not have are empty. A field that cannot be decoded is left out; the
// others are still used.
type Update struct {
	Kind    string
	Message string      // ID of the message, for chunks and whole messages; may be empty
	Content Block       // for chunks; for a whole message the text of all its blocks
	Tool    ToolCall    // for tool calls
	Plan    []PlanEntry // for plans
	Mode    string      // for current_mode_update, and for config_option_update if it has the mode
	Window  Window      // for usage_update
	State   State       // for state_update
	Raw     json.RawMessage
}

// State is the state of a session in the draft. Result and Error are set when the foreground work has ended.
type State struct {
	State      string
	Background int // number of background tasks
	Result     PromptResult
	Error      *Error // error that ended the work; nil if there is none
}

// PlanEntry is a step of a plan.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// ToolCall is one call of a tool.
type ToolCall struct {
	ID       string          `json:"toolCallId"`
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Kind     string          `json:"kind"`
	Status   string          `json:"status"`
	RawInput json.RawMessage `json:"rawInput"`
	Texts    []string        `json:"-"` // the texts in its content
	Paths    []string        `json:"-"` // paths of files that it uses, from its locations and diffs
}

// UnmarshalJSON decodes an update and leaves out fields of another type than expected. It implements json.Unmarshaler.
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

// listOf returns a JSON list with the one element raw.
func listOf(raw json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage("["), raw...), ']')
}

// stateOf decodes an update of the session's state.
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

// read decodes raw into into. If the types do not match, it changes nothing.
func read(raw json.RawMessage, into any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, into) // an unexpected type is ignored
	}
}

// toolOf decodes a tool call.
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

// addPath adds a path to the tool call, unless it has that path.
func (t *ToolCall) addPath(path string) {
	if path != "" && !slices.Contains(t.Paths, path) {
		t.Paths = append(t.Paths, path)
	}
}

// UnmarshalJSON decodes a tool call and leaves out fields of another type than expected. It implements json.Unmarshaler.
func (t *ToolCall) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*t = toolOf(m)
	return nil
}
