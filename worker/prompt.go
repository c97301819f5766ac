package worker

import "time"

// Priority says when a prompt may be handed over.
type Priority string

// The priorities. A word that is not known is [Normal].
const (
	System Priority = "system" // at the next turn boundary, before all others
	Urgent Priority = "urgent" // at once: the turn is interrupted first
	Normal Priority = "normal" // when the agent is idle
)

// MaxPrompt is the most bytes that a prompt may have.
const MaxPrompt = 1 << 20

// Prompt is the body of POST /prompt, and the data of a "prompt" message.
type Prompt struct {
	RunID    string   `json:"run_id"`
	Content  string   `json:"content"` // UTF-8, at most [MaxPrompt] bytes
	Priority Priority `json:"priority,omitempty"`
	Source   string   `json:"source,omitempty"` // "nudge", "mail", "sling", "prime", "wait", ...
	// Key makes a repetition harmless: the same key gives the same prompt.
	Key      string            `json:"key,omitempty"`
	TTL      Seconds           `json:"ttl_seconds,omitempty"` // after that it is not handed over any more; zero is the city's default
	Metadata map[string]string `json:"metadata,omitempty"`    // "from", "bead_id", ...; handed on as it is
}

// PromptAnswer is the answer to POST /prompt. The prompt is durable when it is given.
type PromptAnswer struct {
	Accepted bool   `json:"accepted"`
	Queued   bool   `json:"queued"`   // it waits for its turn
	Position int    `json:"position"` // in the queue, from 1; 0 if it is not queued
	ID       string `json:"id"`       // of its receipt
	State    string `json:"state"`    // of its receipt: queued, injected, submitted, consumed, ...
	Reason   string `json:"reason,omitempty"`
}

// Progress is how far a worker has come with a message, in the words of receipts.
type Progress string

// The progress of a message. Each may be reported once; a later word implies the
// ones before it.
const (
	Received  Progress = "received"  // the worker has it, and has it still after a restart of the city
	Submitted Progress = "submitted" // the agent has taken it
	Consumed  Progress = "consumed"  // a turn worked on it; for other messages: it is done
	Refused   Progress = "refused"   // the agent provably did not get it
	Failed    Progress = "failed"    // it is not known whether the agent got it
)

// Ack is the body of POST /ack.
type Ack struct {
	RunID  string   `json:"run_id"`
	ID     string   `json:"id"` // of the message
	State  Progress `json:"state"`
	Detail string   `json:"detail,omitempty"` // why it was refused or failed
	// Nonces are those of the sections that were seen in the conversation.
	Nonces []string  `json:"nonces,omitempty"`
	At     time.Time `json:"at,omitzero"`
}
