package inject

import (
	"context"
	"errors"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Deliver types one prompt into the terminal, submits it and returns the outcome. id is the ID of the delivery, see
// [DeliveryID]. If the delivery before it was interrupted, Deliver resolves that one first. A refusal means that the agent got
// no byte of the prompt and never will.
//
// If the agent has exited, the state of the outcome is absent before the first byte and unconfirmed after it. An error
// means that the terminal failed or ctx ended; the outcome then describes what may have happened. For an empty text
// Deliver does nothing and returns the state submitted.
func Deliver(ctx context.Context, l Lease, id string, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	if p.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: emptyEvidence}, nil
	}
	to := target{l, id}
	no, err := to.resolvePrevious(ctx, rules)
	switch {
	case err != nil:
		return Unsent(err)
	case no != nil:
		return *no, nil
	}
	out, err := to.deliver(ctx, p, rules)
	return to.recordOutcome(ctx, rules, out, err)
}

// emptyEvidence is the evidence of a delivery without text.
const emptyEvidence = "empty"

// Unsent returns the outcome of an attempt that failed with err before its first byte, for example because it could not
// acquire a [Lease].
func Unsent(err error) (runtime.Outcome, error) {
	if errors.Is(err, screen.ErrExited) {
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, nil
	}
	return NeverSent("not a byte was sent: " + err.Error()), nil
}

// NeverSent returns the outcome of a text if certainly none of its bytes was sent or will be.
func NeverSent(why string) runtime.Outcome {
	out := Withdrawn(why)
	out.Unsent = true
	return out
}

// Withdrawn returns the outcome of a text that the agent certainly did not accept and never will.
func Withdrawn(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: why}
}
