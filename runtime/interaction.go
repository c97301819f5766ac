package runtime

import (
	"errors"
	"strconv"
)

// The actions of an [InteractionResponse].
const (
	// ActionChoose selects the option whose label is Text. If no option has this label, a number
	// selects an option, counted from 1.
	ActionChoose = "choose"
	// ActionText answers with the text in Text.
	ActionText = "text"
	// ActionApprove selects the option that grants once, and ActionDeny the option that refuses.
	// Neither selects an option that grants permanently.
	ActionApprove = "approve"
	ActionDeny    = "deny"
	// ActionCancel closes the question without an answer.
	ActionCancel = "cancel"
)

// Keys of [PendingInteraction.Metadata]. A driver may add others.
const (
	MetaTool   = "tool"   // the tool that the agent wants to run
	MetaInput  = "input"  // the input of the tool
	MetaSource = "source" // the [Source] that reported it
	MetaWhy    = "why"    // the reason why only a person may answer
	MetaUntil  = "until"  // when the agent stops waiting, in RFC 3339; absent if unknown
	// MetaText reports whether [ActionText] can answer: "yes" or "no"; absent if unknown.
	MetaText = "text"
	// MetaSuggest is the label of a harmless option with which the agent continues; absent if a
	// person must choose.
	MetaSuggest = "suggest"
)

// PendingInteraction is a question or a request for permission that blocks a session. RequestID is
// constant while the question is open. It also identifies the instance, so an answer never reaches
// a later instance.
type PendingInteraction struct {
	RequestID string            `json:"request_id"`
	Kind      string            `json:"kind"`
	Prompt    string            `json:"prompt,omitempty"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionResponse is an answer to a [PendingInteraction]. An empty RequestID means the current
// one.
type InteractionResponse struct {
	RequestID string            `json:"request_id,omitempty"`
	Action    string            `json:"action"`
	Text      string            `json:"text,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// AnswerError reports that a question does not accept this answer, and that nothing was sent. It
// matches [errors.ErrUnsupported].
type AnswerError struct {
	Action, Text string
	Why          string
}

// Error implements error.
func (e *AnswerError) Error() string {
	answer := e.Action
	if e.Text != "" {
		answer += " " + strconv.Quote(e.Text)
	}
	return "cannot answer by " + answer + ": " + e.Why
}

// Is reports whether target is [errors.ErrUnsupported].
func (e *AnswerError) Is(target error) bool { return target == errors.ErrUnsupported }

// InteractionProvider is the extension of drivers that report and answer the question that blocks a
// session.
type InteractionProvider interface {
	// Pending returns the current question, or nil if there is none. It returns
	// [ErrSessionNotFound] if the session is missing.
	Pending(name string) (*PendingInteraction, error)
	// Respond answers the question once, and returns when the question is not open any more. If
	// RequestID is not the current one, or no question is open, the error is [ErrInteractionGone].
	// An answer that the question does not accept is an [AnswerError]. In both cases nothing was
	// sent. After any other error something may have been sent: the caller must read the question
	// again before it answers again.
	Respond(name string, response InteractionResponse) error
}

// Pending returns the question that blocks the session. Without the extension the error matches
// [ErrInteractionUnsupported].
func Pending(p Provider, name string) (*PendingInteraction, error) {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Pending(name)
	}
	return nil, &Error{Op: "read pending question of", Session: name, Err: ErrInteractionUnsupported}
}

// Respond answers the question that blocks the session. Without the extension the error matches
// [ErrInteractionUnsupported].
func Respond(p Provider, name string, response InteractionResponse) error {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Respond(name, response)
	}
	return &Error{Op: "respond to", Session: name, Err: ErrInteractionUnsupported}
}
