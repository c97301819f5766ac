package runtime

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Delivery is one prompt on its way to an agent.
type Delivery struct {
	// ID names the delivery in logs and receipts, and to [Settle]: every prompt has
	// one of its own. It may be empty; then its text stands for it.
	ID string
	// Instance is the token of the instance that the prompt is for. Empty
	// means whichever runs now.
	Instance string
	// Content is the prompt. Text arrives byte for byte; where the agent's input box is
	// known to change it, [Outcome.Changes] says how. file_path blocks are staged into the
	// working directory and referred to.
	Content []ContentBlock
	// Confirm bounds the wait for evidence that the agent took the prompt. Zero
	// means the driver's default.
	Confirm time.Duration
	// AllowChanges sends the text although the agent's input box would change it in a way
	// that may alter its meaning. Without it such a text is refused with [RefusedChanged].
	AllowChanges bool
	// Priority, Source and Metadata are what the sender said of the prompt, for agents
	// that take prompts in structured form; all others get the content alone. Priority is
	// "system", "urgent" or "normal"; empty is normal. Metadata is not changed.
	Priority, Source string
	Metadata         map[string]string
	// Literal: the text is for the model, also where it begins like a command of the agent
	// CLI. A text that [MayBeCommand] is refused rather than typed.
	Literal bool
}

// MayBeCommand reports whether an agent CLI may take a typed text for something else than text
// for the model, by its first character: a command ("/"), a shell command ("!"), a note ("#")
// or a reference ("@").
func MayBeCommand(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte("/!#@", text[0]) >= 0
}

// OutcomeState is the outcome of a delivery.
type OutcomeState string

// The outcomes. Only Submitted is a success; only Refused, Absent and
// Unsupported prove that the agent did not get the text.
const (
	OutcomeSubmitted   OutcomeState = "submitted"   // evidence that the agent accepted it
	OutcomeUnconfirmed OutcomeState = "unconfirmed" // handed over, no evidence; never send it again blindly
	OutcomeRefused     OutcomeState = "refused"     // nothing reached the agent; Reason says why, try later
	OutcomeAbsent      OutcomeState = "absent"      // no such session or instance; not a byte was sent
	OutcomeUnsupported OutcomeState = "unsupported" // the session accepts no prompts
)

// RefusalReason is why a delivery was refused.
type RefusalReason string

// The reasons.
const (
	RefusedTyping  RefusalReason = "human_typing"  // a person typed a moment ago
	RefusedDraft   RefusalReason = "draft_present" // the input box holds somebody's text
	RefusedDialog  RefusalReason = "dialog_up"     // a dialog or question would swallow it
	RefusedBusy    RefusalReason = "busy"          // the agent accepts no input during a turn
	RefusedContent RefusalReason = "content"       // the text can never be sent
	RefusedUnready RefusalReason = "not_ready"     // the agent has not drawn its input box yet
	// RefusedChanged: the agent's input box would change the text in a way that may alter its
	// meaning, see [Delivery.AllowChanges]. Detail says how.
	RefusedChanged RefusalReason = "would_change"
	// RefusedWithdrawn: the agent provably never took the text: it was taken out of the
	// input box again, or not a byte was sent.
	RefusedWithdrawn RefusalReason = "withdrawn"
	// RefusedInputBlocked: the input box may hold text of an earlier delivery that can
	// neither be proved gone nor removed. Nothing is typed until the box is empty: by
	// [ClearInput], by a person, or by a restart. Detail says what is in the way.
	RefusedInputBlocked RefusalReason = "input_blocked"
)

// Outcome is the result of a delivery.
type Outcome struct {
	State    OutcomeState  `json:"state"`
	Reason   RefusalReason `json:"reason,omitempty"`
	Evidence string        `json:"evidence,omitempty"` // what proved it: "echo+busy", "hook", ...
	Detail   string        `json:"detail,omitempty"`   // for people
	Unsent   bool          `json:"unsent,omitempty"`   // of RefusedWithdrawn: not a byte was ever sent
	Staged   []string      `json:"staged,omitempty"`   // files put into the working directory, relative
	Changes  []string      `json:"changes,omitempty"`  // what the agent's input box changes in the text, for people
}

// Deliverer is the extension of drivers that report the outcome of a prompt.
type Deliverer interface {
	// Deliver sends one prompt and waits for its outcome. An error means that
	// the driver failed at an unknown point; every answer about the agent or the
	// session is an [Outcome] and no error. A token that is not the current
	// instance's is OutcomeAbsent and an error matching [ErrStaleInstance].
	// Deliveries to one session are served one at a time, in the order of the
	// calls.
	Deliver(ctx context.Context, name string, d Delivery) (Outcome, error)
}

// Deliver sends one prompt. Without the extension it is a Nudge, whose success
// proves nothing: the outcome is then [OutcomeUnconfirmed]. A [RefusedError] is
// the refusal that it is.
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
		return Outcome{State: OutcomeUnconfirmed, Detail: "the driver reports no receipt"}, nil
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

// NudgeError is the error of a plain Nudge for an outcome: nil for submitted
// and unconfirmed, a sentinel or a [RefusedError] otherwise. Drivers use it to
// write Nudge on top of Deliver.
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

// RefusedError says that a prompt was refused before its first byte.
type RefusedError struct {
	Reason RefusalReason
	Detail string
}

func (e *RefusedError) Error() string {
	s := "prompt refused: " + string(e.Reason)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}
