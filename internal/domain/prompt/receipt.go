// Package prompt holds what a prompt goes through on its way to an agent: its
// receipt, the states of the receipt and the order of the queue. It is pure; the
// engine that acts on it is package prompts.
package prompt

import (
	"errors"
	"time"

	"gascity/runtime"
)

// ErrUnknown reports that a receipt is not kept.
var ErrUnknown = errors.New("unknown receipt")

// State is where a prompt is: a client.Receipt word.
type State string

// The states.
const (
	Accepted    State = "accepted"
	Queued      State = "queued"
	Injected    State = "injected"
	Submitted   State = "submitted"
	Consumed    State = "consumed"
	Expired     State = "expired"
	Dead        State = "dead"
	Cancelled   State = "cancelled"
	Unconfirmed State = "unconfirmed"
)

// Final reports whether the state never changes again.
func (s State) Final() bool {
	switch s {
	case Consumed, Expired, Dead, Cancelled, Unconfirmed:
		return true
	default:
		return false
	}
}

// Final reports whether nothing changes the receipt any more. What the agent has taken never
// becomes less than that: it is closed where it stands.
func (r Receipt) Final() bool { return r.State.Final() || r.Closed }

// NeedsContent reports whether the text of the prompt is still of use: to be delivered, or to be
// sent once more by its sender after an end that was no turn.
func (r Receipt) NeedsContent() bool { return r.State != Consumed }

// Priority is the class of a prompt; a lower one goes first.
type Priority int

// The priorities.
const (
	System Priority = iota // offered at once, during a turn too: it is the agent's to take it at its end
	Urgent                 // at once: the turn is interrupted first
	Normal                 // when no turn is known to be in progress
)

// Receipt is the durable account of one prompt.
type Receipt struct {
	ID      string                 `json:"id"`
	Seq     uint64                 `json:"seq"` // the order of acceptance in the city, given by the store
	Session string                 `json:"session"`
	Agent   string                 `json:"agent"`
	Content []runtime.ContentBlock `json:"-"` // kept beside the receipt, dropped when it is consumed
	Bytes   int                    `json:"bytes"`
	Head    string                 `json:"head,omitempty"` // the beginning of the text

	// Instance is the public name of the instance that it is for; empty: the
	// next one that runs. Conversation is the model provider's conversation then: who
	// resumes it inherits the prompt. Successor lets any later instance have it.
	Instance     string `json:"instance,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Successor    bool   `json:"successor,omitempty"`

	Priority Priority `json:"priority"`
	Key      string   `json:"key,omitempty"`
	Source   string   `json:"source,omitempty"`
	Digest   string   `json:"digest,omitempty"` // of the content as it was first sent, to compare what a key stands for

	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Evidence string    `json:"evidence,omitempty"`
	Closed   bool      `json:"closed,omitempty"` // submitted, and no further report will come
	Attempts int       `json:"attempts"`
	NextAt   time.Time `json:"next_at,omitzero"` // no attempt before this
	Steps    []Step    `json:"steps"`
	// SentBack is how often the text was sent and the prompt put back into the queue: the text
	// was removed from the input box again, or the agent's worker refused it.
	SentBack int `json:"sent_back,omitempty"`
	// CancelAt is when the sender asked to cancel the prompt while it was being delivered.
	CancelAt time.Time `json:"cancel_at,omitzero"`
	// Literal: the text is for the model, and never typed as a command of the agent CLI.
	Literal bool `json:"literal,omitempty"`
	// RetryOf is the ID of the prompt that this one repeats.
	RetryOf string `json:"retry_of,omitempty"`
	// AllowChanges: the text is typed although the agent's input box changes it.
	AllowChanges bool `json:"allow_changes,omitempty"`
	// ByFile is the path of the file with the text, for a prompt that goes by file.
	ByFile string `json:"by_file,omitempty"`
	// Changes are what the agent's input box changed in the text, for people.
	Changes []string `json:"changes,omitempty"`
	// Interrupted is when the agent's turn was interrupted for it, so that it is once.
	Interrupted time.Time `json:"interrupted,omitzero"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at"`

	Metadata map[string]string `json:"metadata,omitempty"` // the sender's; never changed in place
}

// Step is one step of a receipt.
type Step struct {
	State  State     `json:"state"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}
