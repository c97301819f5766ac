package worker

import "time"

// Priority decides when a prompt may be sent to the agent.
type Priority string

// The priorities. Any other value means [Normal].
const (
	System Priority = "system" // at the next turn boundary, before all others
	Urgent Priority = "urgent" // at once: the turn is interrupted first
	Normal Priority = "normal" // when the agent is idle
)

// MaxPrompt is the maximum size of a prompt, in bytes.
const MaxPrompt = 1 << 20

// Prompt is the body of POST /prompt, and the data of a "prompt" message.
type Prompt struct {
	RunID    string   `json:"run_id"`
	Content  string   `json:"content"` // UTF-8, at most [MaxPrompt] bytes
	Priority Priority `json:"priority,omitempty"`
	Source   string   `json:"source,omitempty"` // "nudge", "mail", "sling", "prime", "wait", ...
	// Key makes a repetition harmless: the same key returns the same prompt.
	Key      string            `json:"key,omitempty"`
	TTL      Seconds           `json:"ttl_seconds,omitempty"` // after this time it is not sent any more; zero means the city's default
	Metadata map[string]string `json:"metadata,omitempty"`    // "from", "bead_id", ...; not changed
}

// PromptAnswer is the answer to POST /prompt. When the city sends it, the prompt is durable.
type PromptAnswer struct {
	Accepted bool   `json:"accepted"`
	Queued   bool   `json:"queued"`   // it waits in the queue
	Position int    `json:"position"` // in the queue, from 1; 0 if it is not queued
	ID       string `json:"id"`       // of its receipt
	State    string `json:"state"`    // state of its receipt: queued, injected, submitted, consumed, ...
	Reason   string `json:"reason,omitempty"`
}

// Progress is the progress of a message, as the worker reports it.
type Progress string

// The progress of a message. Each value may be reported once; a later value implies the
// ones before it.
const (
	Received  Progress = "received"  // the worker has it, and keeps it during a restart of the city
	Submitted Progress = "submitted" // the agent has accepted it
	Consumed  Progress = "consumed"  // a turn worked on it; for other messages: done
	Refused   Progress = "refused"   // it is proved that the agent did not get it
	Failed    Progress = "failed"    // it is unknown whether the agent got it
)

// Ack is the body of POST /ack.
type Ack struct {
	RunID  string   `json:"run_id"`
	ID     string   `json:"id"` // of the message
	State  Progress `json:"state"`
	Detail string   `json:"detail,omitempty"` // why it was refused or failed
	// Nonces are the nonces of the sections that were found in the conversation.
	Nonces []string  `json:"nonces,omitempty"`
	At     time.Time `json:"at,omitzero"`
}
