package worker

import (
	"encoding/json"
	"time"
)

// InteractionEvent is a change of a question.
type InteractionEvent string

// The events of a question.
const (
	Raised   InteractionEvent = "raised"   // the agent waits for an answer
	Resolved InteractionEvent = "resolved" // it does not wait any more: it was answered elsewhere, or withdrawn
)

// Interaction is the body of POST /interaction: a question that blocks the agent until it is
// answered.
type Interaction struct {
	RunID   string           `json:"run_id"`
	Event   InteractionEvent `json:"event"`
	ID      string           `json:"id"`             // the worker's id of the question, unique in the run
	Kind    string           `json:"kind,omitempty"` // "permission", "question", "menu", "login", "limit"
	Text    string           `json:"text,omitempty"` // the exact text of the question
	Options []Option         `json:"options,omitempty"`
	Tool    string           `json:"tool,omitempty"`
	Input   json.RawMessage  `json:"input,omitempty"`
	// FreeText reports that any text is a valid answer too.
	FreeText bool       `json:"free_text,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"` // after that the worker stops waiting
}

// Option is an answer that a person can select.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Kind  string `json:"kind,omitempty"` // "allow_once", "allow_always", "deny" or "deny_always"; empty for any other option
}

// InteractionAnswer is the answer to POST /interaction.
type InteractionAnswer struct {
	ID string `json:"id"` // the city's id of the question
}

// Reply is the data of a "reply" message: the answer to a question.
type Reply struct {
	RunID       string `json:"run_id"`
	Interaction string `json:"interaction"`      // the worker's id of the question
	Option      string `json:"option,omitempty"` // id of the selected option
	Text        string `json:"text,omitempty"`
	By          string `json:"by,omitempty"` // who answered, as text for people
}
