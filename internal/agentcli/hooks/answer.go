package hooks

import (
	"encoding/json"
	"strings"

	"gascity/worker"
)

// Blocked is the exit status that prevents a tool from running in every agent CLI. The reason goes
// to standard error, and nothing to standard output.
const Blocked = 2

// specific is the JSON answer of [FormSpecific].
type specific struct {
	Output output `json:"hookSpecificOutput"`
}

type output struct {
	Event    string   `json:"hookEventName"`
	Decision string   `json:"permissionDecision,omitempty"`
	Reason   string   `json:"permissionDecisionReason,omitempty"`
	Asked    *verdict `json:"decision,omitempty"`
	Context  string   `json:"additionalContext,omitempty"`
}

type verdict struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// Allowed returns the answer that a tool may run. An empty answer leaves the decision to the agent
// CLI.
func (c CLI) Allowed(e Event) ([]byte, error) {
	if c.Form != FormSpecific || e.Means != Ask {
		return nil, nil
	}
	return json.Marshal(specific{output{Event: e.Name, Asked: &verdict{Behavior: "allow"}}})
}

// AllowedByPerson returns the answer that a person has allowed a tool, so that the agent CLI does
// not ask again.
func (c CLI) AllowedByPerson(e Event, reason string) ([]byte, error) {
	if c.Form != FormSpecific || e.Means == Ask {
		return c.Allowed(e)
	}
	return json.Marshal(specific{output{Event: e.Name, Decision: "allow", Reason: reason}})
}

// Refused returns the answer that a person or the city refuses a tool for which the agent CLI would
// ask. ok is false if only the exit status can refuse it.
func (c CLI) Refused(e Event, reason string) (text []byte, ok bool) {
	if c.Form != FormSpecific || e.Means != Ask {
		return nil, false
	}
	text, err := json.Marshal(specific{output{Event: e.Name, Asked: &verdict{Behavior: "deny", Message: reason}}})
	return text, err == nil
}

// Context returns the answer that adds sections to the conversation that begins.
func (c CLI) Context(e Event, sections []worker.Section) ([]byte, error) {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Content
	}
	return json.Marshal(specific{output{Event: e.Name, Context: strings.Join(parts, "\n\n")}})
}
