package typist

import (
	"context"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

// takenEvidence is the evidence of a text that was in the input line before Enter, and was
// not any more after it.
const takenEvidence = "composer_emptied"

// concluding bounds what is done for a delivery whose ctx may have ended.
const concluding = 15 * time.Second

// conclude notes how a delivery ended. One that held back its Enter takes its text out of
// the line again.
func (a *attempt) conclude(ctx context.Context, rules console.Rules, out runtime.Outcome, cause error) (runtime.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concluding)
	defer cancel()
	j, err := a.Account(ctx, a.id)
	if err != nil || j.Asked == nil || !j.Asked.Open {
		return out, cause
	}
	e := *j.Asked
	e.Outcome, e.Evidence, e.Open = string(out.State), out.Evidence, out.State != runtime.OutcomeSubmitted
	// What is not noted is found out by who comes next.
	_ = a.Lease.Settle(ctx, e)
	if out.State == runtime.OutcomeSubmitted || e.Entered || cause != nil {
		return out, cause
	}
	if _, err := a.resolve(ctx, rules); err != nil {
		return out, nil // who comes next resolves it
	}
	if j, err = a.Account(ctx, a.id); err == nil && j.Asked != nil && j.Asked.Outcome == journal.OutcomeWithdrawn {
		return Withdrawn(out.Detail), nil
	}
	return out, nil
}

// resolve settles the last delivery if its text may still be in the input line. It returns
// the refusal of another delivery, should the line not be clean.
func (a *attempt) resolve(ctx context.Context, rules console.Rules) (*runtime.Outcome, error) {
	j, err := a.Account(ctx, "")
	if err != nil || j.Last == nil || !j.Last.Open {
		return nil, err
	}
	e := *j.Last
	a.last = e.ID
	left := console.Left{Text: string(e.Text), Entered: e.Entered, Seen: e.Seen, Touched: e.Touched, Undone: e.Undone}
	if v := console.Verdict(e.Outcome); v == console.Withdrawn || v == console.Taken {
		left.Found = v
	}
	res, err := console.Resolve(ctx, a, rules, left)
	if err != nil {
		return nil, err
	}
	e.Open = !res.Clean
	switch res.Verdict {
	case console.Withdrawn:
		e.Outcome = journal.OutcomeWithdrawn
	case console.Taken:
		e.Outcome, e.Evidence = string(runtime.OutcomeSubmitted), takenEvidence
	case console.Unknown:
		e.Outcome = string(runtime.OutcomeUnconfirmed)
	}
	if res.Clean || res.Verdict != console.Unknown {
		if err := a.Lease.Settle(ctx, e); err != nil {
			return nil, err
		}
	}
	if e.Open {
		return &runtime.Outcome{
			State: runtime.OutcomeRefused, Reason: runtime.RefusedDraft, Detail: "a text that was cut off may be in the input line: " + res.Why,
		}, nil
	}
	return nil, nil
}

// Settle finds out what became of the delivery with the given ID. It resolves one that was
// cut off: its text is taken out of the input line, or is found to have been taken. An
// outcome that is unconfirmed and has a Reason may be another one soon, see [Patiently].
func Settle(ctx context.Context, l Lease, id string, rules console.Rules) (runtime.Outcome, error) {
	a := &attempt{Lease: l, id: id}
	unknown := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	j, err := a.Account(ctx, id)
	if err != nil {
		return unknown, err
	}
	if out, ok := Told(j); ok {
		return out, nil
	}
	no, err := a.resolve(ctx, rules)
	if err != nil {
		unknown.Detail = err.Error()
		return unknown, err
	}
	if j, err = a.Account(ctx, id); err != nil {
		return unknown, err
	}
	if out, ok := Told(j); ok {
		return out, nil
	}
	if no != nil {
		unknown.Reason, unknown.Detail = no.Reason, no.Detail
	}
	return unknown, nil
}

// Told is the outcome of the delivery that was asked for by the account alone; ok is false
// if its text may still be in the input line or on its way there.
func Told(j journal.Account) (out runtime.Outcome, ok bool) {
	e := j.Asked
	switch {
	case e == nil && j.Forgot:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "too long ago: the session does not remember it"}, true
	case e == nil:
		return Withdrawn("not a byte of it was sent"), true
	case e.Outcome == journal.OutcomeWithdrawn:
		return Withdrawn("it was taken out of the input line"), true
	case e.Outcome == string(runtime.OutcomeSubmitted):
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: e.Evidence}, true
	case !e.Open:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "Enter was pressed, and nothing tells what came of it"}, true
	}
	return runtime.Outcome{}, false
}

const (
	// settleLimit is how long it is tried to tell what became of a delivery, settleAgain
	// how long the input is left to others in between: a dialog that is in the way may
	// be answered, a person stop typing.
	settleLimit = 15 * time.Second
	settleAgain = 200 * time.Millisecond
)

// Patiently calls once until it tells what became of a delivery, or for 15 s. once takes
// the session's input, calls [Settle] and lets go of it again.
func Patiently(ctx context.Context, once func() (runtime.Outcome, error)) (runtime.Outcome, error) {
	for end := time.Now().Add(settleLimit); ; {
		out, err := once()
		if err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason == "" || time.Now().After(end) {
			return out, err
		}
		again := time.NewTimer(settleAgain)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return out, nil
		}
	}
}
