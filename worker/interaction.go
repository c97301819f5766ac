package worker

import (
	"encoding/json"
	"time"
)

// InteractionEvent is what happened to a question.
type InteractionEvent string

// The events of a question.
const (
	Raised   InteractionEvent = "raised"   // the agent waits for an answer
	Resolved InteractionEvent = "resolved" // it does not any more: answered at its own place, or given up
)

// Interaction is the body of POST /interaction: a question that holds the agent
// up until somebody answers.
type Interaction struct {
	RunID   string           `json:"run_id"`
	Event   InteractionEvent `json:"event"`
	ID      string           `json:"id"`             // the worker's own, unique in the run
	Kind    string           `json:"kind,omitempty"` // "permission", "question", "menu", "login", "limit"
	Text    string           `json:"text,omitempty"` // what is asked, word for word
	Options []Option         `json:"options,omitempty"`
	Tool    string           `json:"tool,omitempty"`
	Input   json.RawMessage  `json:"input,omitempty"`
	// FreeText says that any text is an answer too.
	FreeText bool       `json:"free_text,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"` // after that the worker stops waiting
}

// Option is an answer that can be chosen.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Kind  string `json:"kind,omitempty"` // "allow_once", "allow_always", "deny", "deny_always"; empty if it is none of them
}

// InteractionAnswer is the answer to POST /interaction.
type InteractionAnswer struct {
	ID string `json:"id"` // the city's name of the question
}

// Reply is the data of a "reply" message: the answer to a question.
type Reply struct {
	RunID       string `json:"run_id"`
	Interaction string `json:"interaction"`      // the worker's own id of the question
	Option      string `json:"option,omitempty"` // the id of the chosen one
	Text        string `json:"text,omitempty"`
	By          string `json:"by,omitempty"` // who answered, for people
}
