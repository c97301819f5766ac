package runtime

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Delivery is one prompt that is sent to an agent.
type Delivery struct {
	// ID identifies the delivery in logs, in receipts and for [Settle]. Each prompt has its own. If
	// it is empty, the text identifies the delivery.
	ID string
	// Attempt counts the deliveries with this ID, from 1 on. A driver may refuse to send an attempt
	// a second time, and [Settle] is then about this attempt. Zero means that the sender does not
	// count.
	Attempt int
	// Instance is the token of the instance that the prompt is for. Empty means the instance that
	// runs now.
	Instance string
	// Content is the prompt. Text arrives byte for byte. If the agent's input box is known to
	// change it, [Outcome.Changes] lists the changes. A file_path block is copied into the working
	// directory and replaced by a reference.
	Content []ContentBlock
	// Confirm is the limit for waiting until a signal shows that the agent accepted the prompt.
	// Zero means the driver's default.
	Confirm time.Duration
	// AllowChanges sends the text although the agent's input box would change it in a way
	// that may alter its meaning. Without it such a text is refused with [RefusedChanged].
	AllowChanges bool
	// Priority, Source and Metadata are set by the sender. Agents that accept structured prompts
	// get them; all others get the content only. Priority is "system", "urgent" or "normal"; empty
	// means normal. The driver does not change Metadata.
	Priority, Source string
	Metadata         map[string]string
	// Literal means that the text is for the model, even if it begins like a command of the agent
	// CLI. A text for which [MayBeCommand] returns true is then refused and not typed.
	Literal bool
}

// MayBeCommand reports whether an agent CLI may not treat a typed text as text for the model
// because of its first character: a command ("/"), a shell command ("!"), a note ("#") or a
// reference ("@").
func MayBeCommand(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte("/!#@", text[0]) >= 0
}

// OutcomeState is the outcome of a delivery.
type OutcomeState string

// The outcomes. Only Submitted is a success; only Refused, Absent and
// Unsupported prove that the agent did not get the text.
const (
	OutcomeSubmitted   OutcomeState = "submitted"   // a signal shows that the agent accepted it
	OutcomeUnconfirmed OutcomeState = "unconfirmed" // sent, without such a signal; never send it again without proof
	OutcomeRefused     OutcomeState = "refused"     // nothing reached the agent; Reason is set, try later
	OutcomeAbsent      OutcomeState = "absent"      // no such session or instance; no byte was sent
	OutcomeUnsupported OutcomeState = "unsupported" // the session accepts no prompts
)

// RefusalReason is the reason why a delivery was refused.
type RefusalReason string

// The reasons.
const (
	RefusedTyping  RefusalReason = "human_typing"  // a person typed a moment ago
	RefusedDraft   RefusalReason = "draft_present" // the input box contains a person's text
	RefusedDialog  RefusalReason = "dialog_up"     // a dialog or question would receive the text
	RefusedBusy    RefusalReason = "busy"          // the agent accepts no input during a turn
	RefusedContent RefusalReason = "content"       // the text can never be sent
	RefusedUnready RefusalReason = "not_ready"     // the agent has not drawn its input box yet
	// RefusedChanged: the agent's input box would change the text in a way that may alter its
	// meaning; see [Delivery.AllowChanges]. Detail describes the change.
	RefusedChanged RefusalReason = "would_change"
	// RefusedWithdrawn: it is proved that the agent did not accept the text. The text was removed
	// from the input box, or no byte was sent.
	RefusedWithdrawn RefusalReason = "withdrawn"
	// RefusedInputBlocked: the input box may contain text of an earlier delivery, and gc can
	// neither prove that it is gone nor remove it. Nothing is typed until the input box is empty:
	// by [ClearInput], by a person, or by a restart. Detail describes the obstacle.
	RefusedInputBlocked RefusalReason = "input_blocked"
)

// Outcome is the result of a delivery.
type Outcome struct {
	State    OutcomeState  `json:"state"`
	Reason   RefusalReason `json:"reason,omitempty"`
	Evidence string        `json:"evidence,omitempty"` // the signals: "echo+busy", "hook", ...
	Detail   string        `json:"detail,omitempty"`   // for people
	Unsent   bool          `json:"unsent,omitempty"`   // for RefusedWithdrawn: no byte was ever sent
	Staged   []string      `json:"staged,omitempty"`   // files copied into the working directory, relative paths
	Changes  []string      `json:"changes,omitempty"`  // what the agent's input box changes in the text, for people
}

// Deliverer is the extension of drivers that report the outcome of a prompt.
type Deliverer interface {
	// Deliver sends one prompt and waits for its outcome. An error means that the driver failed at
	// an unknown point. Every result about the agent or the session is an [Outcome] and no error. A
	// token that is not the current instance's is OutcomeAbsent and an error that matches
	// [ErrStaleInstance]. Deliveries to one session are processed one at a time, in the order of
	// the calls.
	Deliver(ctx context.Context, name string, d Delivery) (Outcome, error)
}

// Deliver sends one prompt. Without the extension it calls Nudge, whose success proves nothing: the
// outcome is then [OutcomeUnconfirmed]. For a [RefusedError] the outcome is [OutcomeRefused] with
// its reason.
func Deliver(ctx context.Context, p Provider, name string, d Delivery) (Outcome, error) {
	if dl, ok := As[Deliverer](p, name); ok {
		return dl.Deliver(ctx, name, d)
	}
	if d.Instance != "" {
		if err := CheckInstance(ctx, p, name, d.Instance); err != nil {
			if IsSessionGone(err) {
				err = nil
			}
			return Outcome{State: OutcomeAbsent}, err
		}
	}
	var refused *RefusedError
	switch err := p.Nudge(name, d.Content); {
	case err == nil:
		return Outcome{State: OutcomeUnconfirmed, Detail: "the driver does not report whether the agent accepted the prompt"}, nil
	case errors.Is(err, ErrSessionNotFound):
		return Outcome{State: OutcomeAbsent}, nil
	case errors.As(err, &refused):
		return Outcome{State: OutcomeRefused, Reason: refused.Reason, Detail: refused.Detail}, nil
	case errors.Is(err, ErrInputUnsupported), errors.Is(err, errors.ErrUnsupported):
		return Outcome{State: OutcomeUnsupported, Detail: err.Error()}, nil
	default:
		return Outcome{State: OutcomeUnconfirmed, Detail: err.Error()}, err
	}
}

// NudgeError returns the error of Nudge for an outcome: nil for submitted and unconfirmed,
// otherwise a sentinel error or a [RefusedError]. Drivers use it to implement Nudge with Deliver.
func NudgeError(o Outcome) error {
	switch o.State {
	case OutcomeSubmitted, OutcomeUnconfirmed:
		return nil
	case OutcomeAbsent:
		return ErrSessionNotFound
	case OutcomeUnsupported:
		return ErrInputUnsupported
	default:
		return &RefusedError{Reason: o.Reason, Detail: o.Detail}
	}
}

// RefusedError reports that a prompt was refused before its first byte.
type RefusedError struct {
	Reason RefusalReason
	Detail string
}

// Error implements error.
func (e *RefusedError) Error() string {
	s := "prompt refused: " + string(e.Reason)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}
