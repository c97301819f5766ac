package inject

import (
	"cmp"
	"context"
	"time"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// takenEvidence is the evidence of a text that was in the input box before Enter, and was
// not any more after it.
const takenEvidence = "composer_emptied"

// concluding bounds what is done for a delivery whose ctx may have ended.
const concluding = 15 * time.Second

// recordOutcome records how a delivery ended. One that held back its Enter takes its text out of
// the line again.
func (to target) recordOutcome(ctx context.Context, rules screen.Rules, out runtime.Outcome, cause error) (runtime.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concluding)
	defer cancel()
	j, err := to.journal.Account(ctx, to.id)
	if err != nil || j.Asked == nil || !j.Asked.Open {
		return out, cause
	}
	e := *j.Asked
	if out.State == runtime.OutcomeRefused && !e.Unsent { // it was taken back
		return out, to.journal.RecordOutcome(ctx, inputlog.Entry{ID: e.ID, Outcome: inputlog.OutcomeWithdrawn})
	}
	if e.Unsent { // marks that are left are taken away by who comes next
		end := inputlog.Entry{ID: e.ID, Outcome: inputlog.OutcomeWithdrawn, Open: e.Marks > 0}
		if out.Reason == runtime.RefusedInputBlocked {
			end.Open, end.Blocked, end.Hidden = true, out.Detail, e.Marks > 0
		}
		_ = to.journal.RecordOutcome(ctx, end)
		return out, cause
	}
	e.Outcome, e.Evidence, e.Open = string(out.State), out.Evidence, out.State != runtime.OutcomeSubmitted
	// What is not noted is found out by who comes next.
	_ = to.journal.RecordOutcome(ctx, e)
	if out.State == runtime.OutcomeSubmitted || e.Entered || cause != nil {
		return out, cause
	}
	if _, err := to.resolvePrevious(ctx, rules); err != nil {
		return out, nil // who comes next resolves it
	}
	if j, err = to.journal.Account(ctx, to.id); err == nil && j.Asked != nil {
		switch told, ok := FinalOutcome(j); {
		case ok && told.State == runtime.OutcomeRefused:
			return Withdrawn(out.Detail), nil
		case ok && told.Reason == runtime.RefusedInputBlocked:
			return told, nil
		}
	}
	return out, nil
}

// resolvePrevious settles the last delivery if its text may still be in the input box. It returns
// the refusal of another delivery, if the box is not clean. A box that cannot be proved
// clean, for a reason that does not end by itself, is blocked: from then on nothing is typed
// into it until it is seen to be empty.
func (to target) resolvePrevious(ctx context.Context, rules screen.Rules) (*runtime.Outcome, error) {
	j, err := to.journal.Account(ctx, "")
	if err != nil || j.Last == nil || !j.Last.Open {
		return nil, err
	}
	e := *j.Last
	if e.Blocked != "" {
		no, again, err := to.stillBlocked(ctx, rules, j)
		if err != nil || !again {
			return no, err
		}
	}
	res, err := to.resolve(ctx, rules, e)
	if err != nil {
		return nil, err
	}
	e.Open = !res.Clean
	blocked := e.Open && res.Wait == ""
	if !e.Final {
		switch res.Verdict {
		case withdrawn:
			e.Outcome = inputlog.OutcomeWithdrawn
		case accepted:
			e.Outcome, e.Evidence = string(runtime.OutcomeSubmitted), cmp.Or(res.Evidence, takenEvidence)
		case unknown:
			if res.Clean || blocked {
				e.Outcome = string(runtime.OutcomeUnconfirmed)
			}
		}
	}
	e.Blocked, e.Hidden = "", false
	if blocked {
		e.Final, e.Blocked, e.Hidden = true, blockedText(res), res.Hidden
	}
	if res.Clean || blocked || res.Verdict != unknown {
		if err := to.journal.RecordOutcome(ctx, e); err != nil {
			return nil, err
		}
	}
	switch {
	case blocked:
		return refused(runtime.RefusedInputBlocked, "%s", e.Blocked), nil
	case e.Open:
		return refused(res.Wait, "a text that was cut off may be in the input box: %s", res.Why), nil
	}
	return nil, nil
}

// blockedText returns what is in the way of prompts, and what to do.
func blockedText(res resolution) string {
	return "text of gc that was not submitted may be in the input box: " + res.Why +
		"; empty the box by hand or with: gc keys AGENT --clear-input, or restart the agent"
}

// stillBlocked looks whether the blocked box is empty now, and types nothing. It returns the
// refusal of another delivery if it is not; again says that the box shows what it did not
// show before, so that it can be resolved now.
func (to target) stillBlocked(ctx context.Context, rules screen.Rules, j inputlog.Account) (no *runtime.Outcome, again bool, err error) {
	e := *j.Last
	no = refused(runtime.RefusedInputBlocked, "%s", e.Blocked)
	w, err := screen.NewWatcher(ctx, to.terminal)
	if err != nil {
		return nil, false, err
	}
	r := &resolver{
		Watcher: w, to: to, rules: rules, entry: e, shows: j.Shows,
		end: time.Now().Add(resolveLimit), humanInput: w.Snapshot.LastHuman,
	}
	if r.isBlind() {
		return no, e.Touched, nil
	}
	if why, _ := r.unreadableReason(); why != "" {
		return no, false, nil
	}
	wait, err := r.atRest(ctx, boxStableFor)
	if why, _ := r.unreadableReason(); err != nil || wait != "" || why != "" {
		return no, false, err
	}
	empty := r.inputBox().Empty()
	switch {
	case empty && (!e.Hidden || r.shows):
		e.Open = false
		return nil, false, to.journal.RecordOutcome(ctx, e)
	case e.Hidden && !e.Touched && !empty:
		return nil, true, nil
	}
	return no, false, nil
}

// ResolveDelivery finds out the outcome of the delivery with the given ID. It resolves one that was
// cut off: its text is taken out of the input box, or is found to have been taken. An outcome
// that is unconfirmed and has a Reason may be another one soon, see [RetryUntilKnown]; with
// [runtime.RefusedInputBlocked] it is final, and nothing can be typed any more.
func ResolveDelivery(ctx context.Context, l Lease, id string, rules screen.Rules) (runtime.Outcome, error) {
	to := target{l, l, id}
	open := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	j, err := to.journal.Account(ctx, id)
	if err != nil {
		return open, err
	}
	if out, ok := FinalOutcome(j); ok {
		return out, nil
	}
	no, err := to.resolvePrevious(ctx, rules)
	if err != nil {
		open.Detail = err.Error()
		return open, err
	}
	if j, err = to.journal.Account(ctx, id); err != nil {
		return open, err
	}
	if out, ok := FinalOutcome(j); ok {
		return out, nil
	}
	if no != nil {
		open.Reason, open.Detail = no.Reason, no.Detail
	}
	return open, nil
}

// FinalOutcome returns the outcome of the delivery that was asked for by the account alone; ok is false
// if its text may still be in the input box or on its way there.
func FinalOutcome(j inputlog.Account) (out runtime.Outcome, ok bool) {
	e := j.Asked
	switch {
	case e == nil && j.Forgot:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "too long ago: the session does not remember it"}, true
	case e == nil:
		return NeverSent("not a byte of it was sent"), true
	case e.Unsent && !e.Entered:
		return NeverSent("not a byte of it was sent"), true
	case e.Outcome == inputlog.OutcomeWithdrawn && (!e.Open || e.Final):
		return Withdrawn("it was taken out of the input box"), true
	case e.Outcome == string(runtime.OutcomeSubmitted):
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: e.Evidence}, true
	case e.Open && e.Blocked != "":
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedInputBlocked, Detail: e.Blocked}, true
	case (!e.Open || e.Final) && !e.Entered:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "its hand-over was cut off before Enter, and other input came after it"}, true
	case !e.Open, e.Final:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "Enter was pressed, and no signal shows the outcome"}, true
	}
	return runtime.Outcome{}, false
}

const (
	// resolveTimeout is how long the outcome of a delivery is looked for, resolveRetry how
	// long the input is left to others in between: a dialog that is in the way may be
	// answered, a person stop typing.
	resolveTimeout = 15 * time.Second
	resolveRetry   = 200 * time.Millisecond
)

// RetryUntilKnown calls once until it returns the outcome of a delivery, or for 15 s. once
// takes the session's input, calls [ResolveDelivery] and releases it again.
func RetryUntilKnown(ctx context.Context, once func() (runtime.Outcome, error)) (runtime.Outcome, error) {
	for end := time.Now().Add(resolveTimeout); ; {
		out, err := once()
		if err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason == "" || out.Reason == runtime.RefusedInputBlocked || time.Now().After(end) {
			return out, err
		}
		again := time.NewTimer(resolveRetry)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return out, nil
		}
	}
}
