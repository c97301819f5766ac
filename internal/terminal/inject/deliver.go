package inject

import (
	"context"
	"errors"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Deliver brings one prompt to the agent under the given ID, which [inputlog.ID] makes.
// What was left of the delivery before it, if it was cut off, is settled first. The
// outcome says how the delivery ended; a refusal means that the agent provably never
// got a byte of it and never will.
//
// An agent that has exited is an outcome (absent before the first byte, unconfirmed after
// it). An error is a failure of the terminal or the end of ctx; the outcome beside it says
// what may have happened. Empty text is submitted without doing anything.
func Deliver(ctx context.Context, l Lease, id string, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	to := target{l, l, id}
	if p.Text == "" {
		return to.deliver(ctx, p, rules)
	}
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

// Unsent returns the outcome of an attempt that failed before its first byte, as by having got
// no [Lease].
func Unsent(err error) (runtime.Outcome, error) {
	if errors.Is(err, screen.ErrExited) {
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, nil
	}
	return NeverSent("not a byte was sent: " + err.Error()), nil
}

// NeverSent returns the outcome of a text that was provably not sent, not even in part, and never
// will be.
func NeverSent(why string) runtime.Outcome {
	out := Withdrawn(why)
	out.Unsent = true
	return out
}

// Withdrawn returns the outcome of a text that the agent provably never took and never will.
func Withdrawn(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: why}
}
