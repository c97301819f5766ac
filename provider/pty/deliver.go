package pty

import (
	"context"
	"errors"
	"time"

	"gascity/internal/console"
	"gascity/internal/local"
	"gascity/internal/shim"
	"gascity/runtime"
)

// deliver types one prompt into the session's terminal. What was left of the delivery
// before it, should that have been cut off, is settled first.
func deliver(ctx context.Context, l local.Live, text string, confirm time.Duration) (runtime.Outcome, error) {
	if text == "" {
		return console.Deliver(ctx, l.Terminal, console.Prompt{}, l.Rules)
	}
	t, err := l.Lease(ctx)
	if err != nil {
		return unsent(err)
	}
	defer t.Close()
	if no, err := resolve(ctx, t, l.Rules); err != nil || no != nil {
		if err != nil {
			return unsent(err)
		}
		return *no, nil
	}
	out, err := console.Deliver(ctx, t, console.Prompt{Text: text, Confirm: confirm, Answer: l.Answering}, l.Rules)
	if out.State != runtime.OutcomeSubmitted && out.State != runtime.OutcomeUnconfirmed {
		return out, err // not a byte was sent
	}
	return conclude(ctx, t, l.Rules, out, err)
}

// unsent is the outcome of an attempt that failed before its first byte.
func unsent(err error) (runtime.Outcome, error) {
	if errors.Is(err, console.ErrExited) {
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, nil
	}
	return local.WithdrawnOutcome("not a byte was sent: " + err.Error()), nil
}

// concluding bounds what is done for a delivery whose ctx may have ended.
const concluding = 15 * time.Second

// conclude notes how a delivery ended. One that held back its Enter takes its text out of
// the line again.
func conclude(ctx context.Context, t *local.Leased, rules console.Rules, out runtime.Outcome, cause error) (runtime.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concluding)
	defer cancel()
	j, err := t.Lease.Account(ctx, t.ID)
	if err != nil || j.Asked == nil || !j.Asked.Open {
		return out, cause
	}
	e := *j.Asked
	e.Outcome, e.Evidence, e.Open = string(out.State), out.Evidence, out.State != runtime.OutcomeSubmitted
	// What is not noted is found out by who comes next.
	_ = t.Lease.Settle(ctx, e)
	if out.State == runtime.OutcomeSubmitted || e.Entered || cause != nil {
		return out, cause
	}
	if _, err := resolve(ctx, t, rules); err != nil {
		return out, nil // who comes next resolves it
	}
	if j, err = t.Lease.Account(ctx, t.ID); err == nil && j.Asked != nil && j.Asked.Outcome == shim.OutcomeWithdrawn {
		return local.WithdrawnOutcome(out.Detail), nil
	}
	return out, nil
}

// resolve settles the last delivery if its text may still be in the input line. It returns
// the refusal of another delivery, should the line not be clean.
func resolve(ctx context.Context, t *local.Leased, rules console.Rules) (*runtime.Outcome, error) {
	j, err := t.Lease.Account(ctx, "")
	if err != nil || j.Last == nil || !j.Last.Open {
		return nil, err
	}
	e := *j.Last
	t.Last = e.ID
	left := console.Left{Text: string(e.Text), Entered: e.Entered, Seen: e.Seen, Touched: e.Touched, Undone: e.Undone}
	if v := console.Verdict(e.Outcome); v == console.Withdrawn || v == console.Taken {
		left.Found = v
	}
	res, err := console.Resolve(ctx, t, rules, left)
	if err != nil {
		return nil, err
	}
	e.Open = !res.Clean
	switch res.Verdict {
	case console.Withdrawn:
		e.Outcome = shim.OutcomeWithdrawn
	case console.Taken:
		e.Outcome, e.Evidence = string(runtime.OutcomeSubmitted), local.TakenEvidence
	case console.Unknown:
		e.Outcome = string(runtime.OutcomeUnconfirmed)
	}
	if res.Clean || res.Verdict != console.Unknown {
		if err := t.Lease.Settle(ctx, e); err != nil {
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

// settle finds out what became of a delivery that was cut off.
func settle(ctx context.Context, l local.Live) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	j, err := t.Lease.Account(ctx, t.ID)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if out, ok := local.Account(j); ok {
		return out, nil
	}
	no, err := resolve(ctx, t, l.Rules)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	if j, err = t.Lease.Account(ctx, t.ID); err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if out, ok := local.Account(j); ok {
		return out, nil
	}
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	if no != nil {
		out.Reason, out.Detail = no.Reason, no.Detail
	}
	return out, nil
}

// NudgeNow keeps the contract of runtime.ImmediateNudgeProvider. A nudge here
// never waits for an idle agent: it is handed over or refused.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}
