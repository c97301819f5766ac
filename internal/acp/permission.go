package acp

import "encoding/json"

// PermissionParams are the parameters of a request with which an agent asks whether it may use a tool.
type PermissionParams struct {
	SessionID string   `json:"sessionId"`
	Title     string   `json:"title"` // title of the question, only in the draft; version 1 has the title of the tool call
	Tool      ToolCall `json:"toolCall"`
	Options   []Option `json:"options"`
}

// Option is one possible answer to a permission request.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of options. An option of another kind, or without a kind, can be chosen only by its name.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResult is the answer to a permission request.
type PermissionResult struct {
	Outcome PermissionOutcome `json:"outcome"`
}

// PermissionOutcome is "selected" with an option ID, or "cancelled".
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// Selected returns the answer that chooses the option with the given ID.
func Selected(id string) PermissionResult {
	return PermissionResult{PermissionOutcome{Outcome: "selected", OptionID: id}}
}

// Cancelled returns the answer that the turn was cancelled, so that there is no decision.
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

// subjectOf returns the tool call that a permission request of the draft is about. A request for a command becomes a tool call
// that runs the command.
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

// UnmarshalJSON decodes a permission request and leaves out options that cannot be decoded. It implements json.Unmarshaler.
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
