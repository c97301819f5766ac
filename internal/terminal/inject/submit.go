package inject

import (
	"errors"
	"strings"
	"unicode/utf8"

	"gascity/internal/overlay"
	"gascity/runtime"
)

// Submit copies the files of a delivery into the session's working directory. It then calls deliver with the prompt, which
// names the files, and the ID of the delivery. It returns a refusal if the content cannot be delivered. Without text nothing
// is delivered.
func Submit(d runtime.Delivery, workDir string, deliver func(id string, p Prompt) (runtime.Outcome, error)) (runtime.Outcome, error) {
	if d.Literal && runtime.MayBeCommand(runtime.FlattenText(d.Content)) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "the text would be typed, and the agent CLI may run it as a command"}, nil
	}
	message, err := overlay.MessageOf(d.Content)
	var places []string
	if err == nil {
		places, err = message.Stage(workDir)
	}
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}, nil //nolint:nilerr // the outcome contains the error
	}
	if message.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: emptyEvidence, Staged: places}, nil
	}
	out, err := deliver(DeliveryID(d.ID, message.Text), Prompt{Text: message.Text, Confirm: d.Confirm, AllowChanges: d.AllowChanges})
	out.Staged = places
	return out, err
}

// Fence returns the token that the instance of a call must have; nil if instance is empty: any instance.
func Fence(instance string) *string {
	if instance == "" {
		return nil
	}
	return &instance
}

// DeliveryIDOf returns the ID of a delivery in the session's log: the ID that the caller has set, or else a hash of the
// text.
func DeliveryIDOf(d runtime.Delivery) (string, error) {
	if d.ID != "" {
		return d.ID, nil
	}
	message, err := overlay.MessageOf(d.Content)
	return DeliveryID("", message.Text), err
}

// HasControl reports whether a prompt has bytes that are not UTF-8, or a control character other than tab and line ends. Every
// driver refuses such a prompt.
func HasControl(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
	})
}

// DeliveryResult returns the result of [runtime.Deliverer] for the result of [Submit], or for the error that prevented the
// call. A session that does not exist is no error, but an outcome with the state absent.
func DeliveryResult(out runtime.Outcome, err error) (runtime.Outcome, error) {
	switch {
	case err == nil || out.State != "":
		return out, err
	case errors.Is(err, runtime.ErrStaleInstance):
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, err
	case errors.Is(err, runtime.ErrSessionNotFound):
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "no such session runs"}, nil
	}
	out.State, out.Detail = runtime.OutcomeUnconfirmed, err.Error()
	return out, err
}
