package agentcli

import (
	"encoding/json"
	"strings"

	"gascity/worker"
)

// HookBlocked is the exit status that prevents a tool from running in every agent CLI. The reason goes
// to standard error, and nothing to standard output.
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

// Allowed returns the answer that a tool may run. An empty answer leaves the decision to the agent
// CLI.
func (c Hooks) Allowed(e HookEvent) ([]byte, error) {
	if c.Form != HookFormSpecific || e.Means != HookAsk {
		return nil, nil
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Asked: &hookVerdict{Behavior: "allow"}}})
}

// AllowedByPerson returns the answer that a person has allowed a tool, so that the agent CLI does
// not ask again.
func (c Hooks) AllowedByPerson(e HookEvent, reason string) ([]byte, error) {
	if c.Form != HookFormSpecific || e.Means == HookAsk {
		return c.Allowed(e)
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Decision: "allow", Reason: reason}})
}

// Refused returns the answer that a person or the city refuses a tool for which the agent CLI would
// ask. ok is false if only the exit status can refuse it.
func (c Hooks) Refused(e HookEvent, reason string) (text []byte, ok bool) {
	if c.Form != HookFormSpecific || e.Means != HookAsk {
		return nil, false
	}
	text, err := json.Marshal(hookSpecific{hookOutput{Event: e.Name, Asked: &hookVerdict{Behavior: "deny", Message: reason}}})
	return text, err == nil
}

// Context returns the answer that adds sections to the conversation that begins.
func (c Hooks) Context(e HookEvent, sections []worker.Section) ([]byte, error) {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Content
	}
	return json.Marshal(hookSpecific{hookOutput{Event: e.Name, Context: strings.Join(parts, "\n\n")}})
}
