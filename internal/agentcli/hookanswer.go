package agentcli

import (
	"encoding/json"
	"strings"

	"gascity/worker"
)

// HookBlocked is the exit status with which a hook keeps a tool from running, in every agent CLI.
// The hook writes the reason to standard error and nothing to standard output.
const HookBlocked = 2

// hookSpecific is the JSON answer of [HookFormSpecific].
type hookSpecific struct {
	Output hookOutput `json:"hookSpecificOutput"`
}

type hookOutput struct {
	Event    string       `json:"hookEventName"`
	Decision string       `json:"permissionDecision,omitempty"`
	Reason   string       `json:"permissionDecisionReason,omitempty"`
	Asked    *hookVerdict `json:"decision,omitempty"`
	Context  string       `json:"additionalContext,omitempty"`
}

type hookVerdict struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// Allowed returns the answer of a hook that the agent may use a tool. If it is empty, the agent CLI
// decides by its own rules, which may ask a person.
func (c Hooks) Allowed(e HookEvent) ([]byte, error) {
	if c.Form != HookFormSpecific || e.Means != HookAsk {
		return nil, nil
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Asked: &hookVerdict{Behavior: "allow"}}})
}

// AllowedByPerson returns the answer of a hook that a person has allowed a tool. With it the agent
// CLI does not ask a person again.
func (c Hooks) AllowedByPerson(e HookEvent, reason string) ([]byte, error) {
	if c.Form != HookFormSpecific || e.Means == HookAsk {
		return c.Allowed(e)
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Decision: "allow", Reason: reason}})
}

// Refused returns the answer of a hook that the agent must not use a tool about which the agent CLI
// would ask a person. ok is false if there is no such answer and only the exit status [HookBlocked]
// can refuse the tool.
func (c Hooks) Refused(e HookEvent, reason string) (text []byte, ok bool) {
	if c.Form != HookFormSpecific || e.Means != HookAsk {
		return nil, false
	}
	text, err := json.Marshal(hookSpecific{hookOutput{Event: e.Name, Asked: &hookVerdict{Behavior: "deny", Message: reason}}})
	return text, err == nil
}

// Context returns the answer of a hook that adds sections of text to the conversation that begins.
func (c Hooks) Context(e HookEvent, sections []worker.Section) ([]byte, error) {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Content
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Context: strings.Join(parts, "\n\n")}})
}
