package inject

import (
	"errors"

	"gascity/internal/overlay"
	"gascity/internal/terminal/inputlog"
	"gascity/runtime"
)

// Submit puts the files of a delivery into the session's working directory and calls deliver with
// the prompt that refers to them, and its ID in the account. What cannot be handed over is
// refused.
func Submit(d runtime.Delivery, workDir string, deliver func(id string, p Prompt) (runtime.Outcome, error)) (runtime.Outcome, error) {
	if d.Literal && runtime.MayBeCommand(runtime.FlattenText(d.Content)) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "the text is typed here, and the agent CLI may take it for a command"}, nil
	}
	message, err := overlay.MessageOf(d.Content)
	var places []string
	if err == nil {
		places, err = message.Stage(workDir)
	}
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}, nil //nolint:nilerr // the outcome says it
	}
	out, err := deliver(inputlog.ID(d.ID, message.Text), Prompt{Text: message.Text, Confirm: d.Confirm, AllowChanges: d.AllowChanges})
	out.Staged = places
	return out, err
}

// DeliveryResult returns what [runtime.Deliverer] returns when [Submit] returned out, or was not called
// because of err: a session that is not there is no failure.
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
