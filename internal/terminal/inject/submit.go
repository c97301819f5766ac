package inject

import (
	"errors"

	"gascity/internal/overlay"
	"gascity/internal/terminal/inputlog"
	"gascity/runtime"
)

// Submit copies the files of a delivery into the session's working directory. It then calls deliver with the prompt, which
// names the files, and the ID of the delivery. It returns a refusal if the content cannot be delivered.
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
	out, err := deliver(inputlog.ID(d.ID, message.Text), Prompt{Text: message.Text, Confirm: d.Confirm, AllowChanges: d.AllowChanges})
	out.Staged = places
	return out, err
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
