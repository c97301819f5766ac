package inject

import (
	"context"
	"errors"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// writtenToPipe is the detail of a prompt that was written into a pipe, which does not show whether the agent has read it.
const writtenToPipe = "written to the agent's standard input, which shows no outcome"

// DeliverInput writes a prompt to the input of a program without a terminal and returns the outcome. input are the bytes of the
// prompt. A pipe does not show whether the program has read them, so the best outcome is unconfirmed.
func DeliverInput(ctx context.Context, j Journal, id string, input []byte) (runtime.Outcome, error) {
	if err := j.Begin(ctx, id, "", nil); err != nil {
		return Unsent(err)
	}
	switch err := j.Type(ctx, InputEnter, input); {
	case errors.Is(err, screen.ErrExited): // no byte was written
		return Unsent(err)
	case err != nil:
		return unconfirmed("%v", err), err
	}
	return unconfirmed("%s", writtenToPipe), nil
}

// ResolveInput returns the recorded outcome of a delivery by [DeliverInput]. Bytes that were written into a pipe cannot be
// removed.
func ResolveInput(ctx context.Context, j Journal, id string) (runtime.Outcome, error) {
	record, err := j.Account(ctx, id)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if record.Asked != nil && !record.Asked.Entered {
		return NeverSent("no byte of it was sent"), nil
	}
	if out, ok := FinalOutcome(record); ok {
		return out, nil
	}
	return unconfirmed("%s", writtenToPipe), nil
}
