package acp

import "encoding/json"

// PermissionParams ask for a permission.
type PermissionParams struct {
	SessionID string   `json:"sessionId"`
	Title     string   `json:"title"` // of the question, in the draft; else the tool's is
	Tool      ToolCall `json:"toolCall"`
	Options   []Option `json:"options"`
}

// Option is one answer to it.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of options. An option of another kind, or of none, is chosen by name only.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResult answers it.
type PermissionResult struct {
	Outcome PermissionOutcome `json:"outcome"`
}

// PermissionOutcome is "selected" with an option, or "cancelled".
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// Selected returns the choice of an option.
func Selected(id string) PermissionResult {
	return PermissionResult{PermissionOutcome{Outcome: "selected", OptionID: id}}
}

// Cancelled leaves the permission unanswered, for a turn that is cancelled.
func Cancelled() PermissionResult { return PermissionResult{PermissionOutcome{Outcome: "cancelled"}} }

// OptionOfKind returns the first option of a kind; ok is false if there is none.
func OptionOfKind(options []Option, kind string) (o Option, ok bool) {
	for _, o := range options {
		if o.Kind == kind && o.ID != "" {
			return o, true
		}
	}
	return Option{}, false
}

// subjectOf returns what a permission of the draft is asked for: a tool's call, or a command, which
// is reported as a tool that executes it.
func subjectOf(raw json.RawMessage) (t ToolCall) {
	var subject struct {
		Tool    json.RawMessage `json:"toolCall"`
		ID      string          `json:"toolCallId"`
		Command string          `json:"command"`
		Cwd     string          `json:"cwd"`
	}
	read(raw, &subject)
	if read(subject.Tool, &t); subject.Command == "" {
		return t
	}
	input, err := json.Marshal(map[string]string{"command": subject.Command, "cwd": subject.Cwd})
	if err != nil {
		return t
	}
	return ToolCall{ID: subject.ID, Title: subject.Command, Kind: "execute", RawInput: input}
}

// UnmarshalJSON reads the options that can be read, each by itself.
func (p *PermissionParams) UnmarshalJSON(raw []byte) error {
	var m struct {
		SessionID string            `json:"sessionId"`
		Title     json.RawMessage   `json:"title"`
		Tool      json.RawMessage   `json:"toolCall"`
		Subject   json.RawMessage   `json:"subject"`
		Options   []json.RawMessage `json:"options"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*p = PermissionParams{SessionID: m.SessionID}
	read(m.Title, &p.Title)
	if read(m.Tool, &p.Tool); isNull(m.Tool) {
		p.Tool = subjectOf(m.Subject)
	}
	for _, one := range m.Options {
		var o Option
		if json.Unmarshal(one, &o) == nil && o.ID != "" {
			p.Options = append(p.Options, o)
		}
	}
	return nil
}
