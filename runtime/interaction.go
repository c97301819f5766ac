package runtime

import (
	"errors"
	"strconv"
)

// The actions of an [InteractionResponse].
const (
	// ActionChoose takes the option whose label is Text. A number counts from 1,
	// and is only taken for one if no option is labelled so.
	ActionChoose = "choose"
	// ActionText answers with the words of Text.
	ActionText = "text"
	// ActionApprove and ActionDeny take the option that grants once or refuses, and
	// never one that grants for ever.
	ActionApprove = "approve"
	ActionDeny    = "deny"
	// ActionCancel leaves the question without an answer.
	ActionCancel = "cancel"
)

// Keys of [PendingInteraction.Metadata], beside those of a driver's own.
const (
	MetaTool   = "tool"   // what is to run
	MetaInput  = "input"  // with which input
	MetaSource = "source" // the [Source] that reported it
	MetaWhy    = "why"    // why only a person may answer
	MetaUntil  = "until"  // when the agent stops waiting, in RFC 3339; absent: not known
	// MetaText says whether [ActionText] can answer: "yes" or "no"; absent: not known.
	MetaText = "text"
	// MetaSuggest is the label of an option that does no harm and lets the agent go on;
	// absent: a person has to choose.
	MetaSuggest = "suggest"
)

// PendingInteraction is a question or permission that blocks a session.
// RequestID is the same for as long as the same question stands, and names the
// instance too: an answer to it can reach no successor.
type PendingInteraction struct {
	RequestID string            `json:"request_id"`
	Kind      string            `json:"kind"`
	Prompt    string            `json:"prompt,omitempty"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionResponse answers a [PendingInteraction]. An empty RequestID means
// the current one.
type InteractionResponse struct {
	RequestID string            `json:"request_id,omitempty"`
	Action    string            `json:"action"`
	Text      string            `json:"text,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// AnswerError says that a question cannot be answered so, and that nothing was
// sent. It is [errors.ErrUnsupported] to [errors.Is].
type AnswerError struct {
	Action, Text string
	Why          string
}

func (e *AnswerError) Error() string {
	answer := e.Action
	if e.Text != "" {
		answer += " " + strconv.Quote(e.Text)
	}
	return "cannot answer by " + answer + ": " + e.Why
}

// Is reports whether target is [errors.ErrUnsupported].
func (e *AnswerError) Is(target error) bool { return target == errors.ErrUnsupported }

// InteractionProvider is the extension of drivers that show and settle what
// blocks a session.
type InteractionProvider interface {
	// Pending returns the current interaction, nil if there is none.
	// [ErrSessionNotFound] if the session is missing.
	Pending(name string) (*PendingInteraction, error)
	// Respond answers it, once, and returns when it does not stand any more. A
	// RequestID that is not the current one's, or none where nothing is pending,
	// is [ErrInteractionGone]; an answer that cannot be given is an [AnswerError].
	// With both nothing is sent. Any other error says that something may have been
	// sent: the caller looks again before it answers again.
	Respond(name string, response InteractionResponse) error
}

// Pending returns what blocks the session. Without the extension the error
// matches [ErrInteractionUnsupported].
func Pending(p Provider, name string) (*PendingInteraction, error) {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Pending(name)
	}
	return nil, &Error{Op: "read pending question of", Session: name, Err: ErrInteractionUnsupported}
}

// Respond answers what blocks the session. Without the extension the error
// matches [ErrInteractionUnsupported].
func Respond(p Provider, name string, response InteractionResponse) error {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Respond(name, response)
	}
	return &Error{Op: "respond to", Session: name, Err: ErrInteractionUnsupported}
}
