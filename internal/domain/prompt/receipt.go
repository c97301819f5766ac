// Package prompt defines the receipt of a prompt, the states of a receipt and the order of the
// queue. It has no side effects; package prompts carries out the deliveries.
package prompt

import (
	"errors"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// ErrUnknown reports that the store has no such receipt.
var ErrUnknown = errors.New("unknown receipt")

// State is the state of a prompt: one of the states of client.Receipt.
type State string

// The states.
const (
	Accepted    State = client.ReceiptAccepted
	Queued      State = client.ReceiptQueued
	Injected    State = client.ReceiptInjected
	Submitted   State = client.ReceiptSubmitted
	Consumed    State = client.ReceiptConsumed
	Expired     State = client.ReceiptExpired
	Dead        State = client.ReceiptDead
	Cancelled   State = client.ReceiptCancelled
	Unconfirmed State = client.ReceiptUnconfirmed
)

// Final reports whether the state can never change again.
func (s State) Final() bool {
	switch s {
	case Consumed, Expired, Dead, Cancelled, Unconfirmed:
		return true
	default:
		return false
	}
}

// Final reports whether the receipt can never change again. A submitted receipt for which no
// further report is expected is closed, and then final too.
func (r Receipt) Final() bool { return r.State.Final() || r.Closed }

// NeedsContent reports whether the store must keep the text of the prompt: for its delivery, or so
// that its sender can send it again after it failed.
func (r Receipt) NeedsContent() bool { return r.State != Consumed }

// Priority is the class of a prompt; prompts with a lower value are delivered first.
type Priority int

// The priorities.
const (
	System Priority = iota // delivered at once, even during a turn; the agent decides when to handle it
	Urgent                 // delivered at once, after the current turn was interrupted
	Normal                 // delivered when no turn is known to be in progress
)

// Receipt is the stored record of one prompt.
type Receipt struct {
	ID  string `json:"id"`
	Seq uint64 `json:"seq"` // the order of acceptance in the city, assigned by the store
	// Place orders the prompts of one priority in place of Seq if a person has moved the prompt; zero: it was not moved.
	Place   float64                `json:"place,omitempty"`
	Session string                 `json:"session"`
	Agent   string                 `json:"agent"`
	Content []runtime.ContentBlock `json:"-"` // stored separately, deleted when the prompt is consumed
	Bytes   int                    `json:"bytes"`
	Head    string                 `json:"head,omitempty"` // the beginning of the text

	// Instance is the public name of the instance that the prompt is for; empty: the next one that
	// runs. Conversation is the model provider's conversation of that instance: an instance that
	// resumes it may get the prompt too. If Successor is true, any later instance may get it.
	Instance     string `json:"instance,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Successor    bool   `json:"successor,omitempty"`

	Priority Priority `json:"priority"`
	Key      string   `json:"key,omitempty"`
	Source   string   `json:"source,omitempty"`
	Digest   string   `json:"digest,omitempty"` // of the content as first sent, to detect a key that is used again for another content

	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Evidence string    `json:"evidence,omitempty"`
	Closed   bool      `json:"closed,omitempty"` // submitted, and no further report is expected
	Attempts int       `json:"attempts"`
	NextAt   time.Time `json:"next_at,omitzero"` // no attempt before this
	Steps    []Step    `json:"steps"`
	// SentBack is how often the text was sent and the prompt then went back into the queue,
	// because the text was removed from the input box again or the agent's worker refused it.
	SentBack int `json:"sent_back,omitempty"`
	// CancelAt is when the sender asked to cancel the prompt while it was being delivered.
	CancelAt time.Time `json:"cancel_at,omitzero"`
	// Literal is true if the text is for the model and must not be typed as a command of the agent
	// CLI.
	Literal bool `json:"literal,omitempty"`
	// RetryOf is the ID of the prompt that this one repeats.
	RetryOf string `json:"retry_of,omitempty"`
	// AllowChanges is true if the text may be typed although the agent's input box changes it.
	AllowChanges bool `json:"allow_changes,omitempty"`
	// ByFile is the path of the file with the text, if the prompt refers the agent to a file.
	ByFile string `json:"by_file,omitempty"`
	// Changes describes how the agent's input box changed the text, for people.
	Changes []string `json:"changes,omitempty"`
	// Interrupted is when the agent's turn was interrupted for this prompt. A turn is interrupted
	// only once.
	Interrupted time.Time `json:"interrupted,omitzero"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at"`

	Metadata map[string]string `json:"metadata,omitempty"` // from the sender; never changed in place
}

// Step is one entry in the history of a receipt.
type Step struct {
	State  State     `json:"state"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}
