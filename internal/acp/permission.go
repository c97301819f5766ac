package acp

import "encoding/json"

// PermissionParams ask for a permission.
type PermissionParams struct {
	SessionID string   `json:"sessionId"`
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

// Selected is the choice of an option.
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

// UnmarshalJSON reads the options that can be read, each by itself.
func (p *PermissionParams) UnmarshalJSON(raw []byte) error {
	var m struct {
		SessionID string            `json:"sessionId"`
		Tool      json.RawMessage   `json:"toolCall"`
		Options   []json.RawMessage `json:"options"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*p = PermissionParams{SessionID: m.SessionID}
	read(m.Tool, &p.Tool)
	for _, one := range m.Options {
		var o Option
		if json.Unmarshal(one, &o) == nil && o.ID != "" {
			p.Options = append(p.Options, o)
		}
	}
	return nil
}
