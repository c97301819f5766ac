package typist

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

// Prompt is a text on its way to the agent: Text; Confirm, which bounds the wait for
// evidence after Enter; and Answer, if the text is what the program's own report waits
// for.
type Prompt = console.Prompt

// Deliver brings one prompt to the agent under the given ID, which [journal.ID] makes.
// What was left of the delivery before it, should that have been cut off, is settled
// first. What became of the prompt is in the outcome; a refusal means that the agent
// provably never got a byte of it and never will.
//
// An agent that has exited is an outcome (absent before the first byte, unconfirmed after
// it). An error is a failure of the terminal or the end of ctx; the outcome beside it says
// what may have happened. Empty text is submitted without doing anything.
func Deliver(ctx context.Context, l Lease, id string, p Prompt, rules console.Rules) (runtime.Outcome, error) {
	if p.Text == "" {
		return Type(ctx, l, p, rules)
	}
	a := &attempt{Lease: l, id: id}
	if no, err := a.resolve(ctx, rules); err != nil || no != nil {
		if err != nil {
			return Unsent(err)
		}
		return *no, nil
	}
	out, err := console.Deliver(ctx, a, p, rules)
	if out.State != runtime.OutcomeSubmitted && out.State != runtime.OutcomeUnconfirmed {
		return out, err // not a byte was sent
	}
	return a.conclude(ctx, rules, out, err)
}

// Type brings a prompt to the agent without an account: should the caller be cut off,
// nobody can tell what became of it. Outcome and error are those of [Deliver].
func Type(ctx context.Context, t console.Terminal, p Prompt, rules console.Rules) (runtime.Outcome, error) {
	return console.Deliver(ctx, t, p, rules)
}

// Interrupt sends the keys that abandon a turn. If the agent is known to put the
// interrupted prompt back into its input line, and that line was empty before, it is
// emptied again, or the next prompt would be glued to it.
func Interrupt(ctx context.Context, t console.Terminal, rules console.Rules) error {
	return console.Interrupt(ctx, t, rules)
}

// Unsent is the outcome of an attempt that failed before its first byte, as by having got
// no [Lease].
func Unsent(err error) (runtime.Outcome, error) {
	if errors.Is(err, console.ErrExited) {
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, nil
	}
	return Withdrawn("not a byte was sent: " + err.Error()), nil
}

// Withdrawn is the outcome of a text that the agent provably never took and never will.
func Withdrawn(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: why}
}

// attempt is one delivery and its account.
type attempt struct {
	Lease

	id   string
	last string // of the one before it, while that is resolved
}

var (
	_ console.Holder  = (*attempt)(nil)
	_ console.Journal = (*attempt)(nil)
	_ console.Prober  = (*attempt)(nil)
)

func (a *attempt) Hold(ctx context.Context) (release func(), err error) {
	if h, ok := a.Lease.(console.Holder); ok {
		return h.Hold(ctx)
	}
	return func() {}, nil
}

func (a *attempt) Begin(ctx context.Context, text string, undo []byte) error {
	return a.Lease.Begin(ctx, a.id, text, undo)
}

func (a *attempt) Enter(ctx context.Context, p []byte) error { return a.enter(ctx, journal.Enter, p) }

func (a *attempt) EnterSeen(ctx context.Context, p []byte) error {
	return a.enter(ctx, journal.Seen, p)
}

func (a *attempt) enter(ctx context.Context, in journal.Input, p []byte) error {
	err := a.Lease.Type(ctx, in, p)
	if errors.Is(err, journal.ErrTouched) {
		return fmt.Errorf("%w (%w)", console.ErrTouched, err)
	}
	return err
}

func (a *attempt) Probe(ctx context.Context, p []byte) error {
	return a.Lease.Type(ctx, journal.Probe, p)
}

func (a *attempt) Found(ctx context.Context, v console.Verdict) error {
	e := journal.Entry{ID: a.last, Outcome: string(v), Open: true}
	if v == console.Taken {
		e.Evidence = takenEvidence
	}
	return a.Lease.Settle(ctx, e)
}
