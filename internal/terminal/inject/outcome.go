package inject

import (
	"cmp"
	"context"
	"time"

	"gascity/internal/retry"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// takenEvidence is the evidence of a text that was in the input box before Enter and not after it.
const takenEvidence = "composer_emptied"

// recordTimeout is the limit of recordOutcome, which does not end with the ctx of the delivery.
const recordTimeout = 15 * time.Second

// recordOutcome writes the outcome of a delivery to the input log and returns the outcome to report. A delivery without
// an open entry in the log is returned unchanged. If the text was typed but Enter was not pressed, recordOutcome first
// removes the text from the input box, and then reports the delivery as withdrawn.
func (to target) recordOutcome(ctx context.Context, rules screen.Rules, out runtime.Outcome, cause error) (runtime.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	j, err := to.Account(ctx, to.id)
	if err != nil || j.Asked == nil || !j.Asked.Open {
		return out, cause
	}
	e := *j.Asked
	if out.State == runtime.OutcomeRefused && !e.Unsent { // the text was removed again
		return out, to.RecordOutcome(ctx, DeliveryEntry{ID: e.ID, Outcome: OutcomeWithdrawn})
	}
	if e.Unsent { // the next delivery removes a remaining mark
		end := DeliveryEntry{ID: e.ID, Outcome: OutcomeWithdrawn, Open: e.Marks > 0}
		if out.Reason == runtime.RefusedInputBlocked {
			end.Open, end.Blocked, end.Hidden = true, out.Detail, e.Marks > 0
		}
		_ = to.RecordOutcome(ctx, end)
		return out, cause
	}
	e.Outcome, e.Evidence, e.Open = string(out.State), out.Evidence, out.State != runtime.OutcomeSubmitted
	// If this fails, the next delivery resolves this one.
	_ = to.RecordOutcome(ctx, e)
	if out.State == runtime.OutcomeSubmitted || e.Entered || cause != nil {
		return out, cause
	}
	if _, err := to.resolvePrevious(ctx, rules); err != nil {
		return out, nil // the next delivery resolves it
	}
	if j, err = to.Account(ctx, to.id); err == nil && j.Asked != nil {
		switch final, ok := FinalOutcome(j); {
		case ok && final.State == runtime.OutcomeRefused:
			return Withdrawn(out.Detail), nil
		case ok && final.Reason == runtime.RefusedInputBlocked:
			return final, nil
		}
	}
	return out, nil
}

// resolvePrevious is called before a new delivery. If the text of the last delivery may still be in the input box, it finds
// out what happened to that text, removes it and records the result. If a part of the text may still be in the box
// afterwards, it returns the refusal for the new delivery. If this cannot end by itself, the box is recorded as blocked:
// nothing is typed into it until the screen shows that it is empty.
func (to target) resolvePrevious(ctx context.Context, rules screen.Rules) (*runtime.Outcome, error) {
	j, err := to.Account(ctx, "")
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
			e.Outcome = OutcomeWithdrawn
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
		if err := to.RecordOutcome(ctx, e); err != nil {
			return nil, err
		}
	}
	switch {
	case blocked:
		return refused(runtime.RefusedInputBlocked, "%s", e.Blocked), nil
	case e.Open:
		return refused(res.Wait, "an incomplete text may be in the input box: %s", res.Why), nil
	}
	return nil, nil
}

// blockedText returns the message for people about a blocked input box, with the fix.
func blockedText(res resolution) string {
	return "text of gc that was not submitted may be in the input box: " + res.Why +
		"; empty the box by hand or with: gc keys AGENT --clear-input, or restart the agent"
}

// stillBlocked checks whether a blocked box is empty now. It types nothing. If the box is not empty, it returns the refusal
// for the next delivery. again is true if the box now shows content that it did not show before, so it can be resolved.
func (to target) stillBlocked(ctx context.Context, rules screen.Rules, j DeliveryAccount) (no *runtime.Outcome, again bool, err error) {
	e := *j.Last
	no = refused(runtime.RefusedInputBlocked, "%s", e.Blocked)
	w, err := screen.NewWatcher(ctx, to.Lease)
	if err != nil {
		return nil, false, err
	}
	r := &resolver{
		Watcher: w, to: to, rules: rules, entry: e, shows: j.Shows,
		end: time.Now().Add(resolveLimit), humanInput: w.Snapshot.LastHuman,
	}
	if isBlind(r.rules) {
		return no, e.Touched, nil
	}
	if why, _ := r.unreadableReason(); why != "" {
		return no, false, nil
	}
	wait, err := r.awaitStable(ctx, boxStableFor)
	if why, _ := r.unreadableReason(); err != nil || wait != "" || why != "" {
		return no, false, err
	}
	empty := r.inputBox().Empty()
	switch {
	case empty && (!e.Hidden || r.shows):
		e.Open = false
		return nil, false, to.RecordOutcome(ctx, e)
	case e.Hidden && !e.Touched && !empty:
		return nil, true, nil
	}
	return no, false, nil
}

// ResolveDelivery returns the outcome of the delivery with the given ID. If the delivery was interrupted, it resolves it:
// it removes the text from the input box, or finds that the agent has accepted it. An outcome that is unconfirmed and has
// a Reason may change soon, see [RetryUntilKnown]. The exception is [runtime.RefusedInputBlocked]: this outcome is final,
// and gc types no more prompts until the box is empty.
func ResolveDelivery(ctx context.Context, l Lease, id string, rules screen.Rules) (runtime.Outcome, error) {
	to := target{l, id}
	open := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	j, err := to.Account(ctx, id)
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
	if j, err = to.Account(ctx, id); err != nil {
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

// FinalOutcome returns the outcome of the delivery j.Asked by the journal alone. ok is false if its text may still be in
// the input box or in unread input.
func FinalOutcome(j DeliveryAccount) (out runtime.Outcome, ok bool) {
	e := j.Asked
	switch {
	case e == nil && j.Forgot:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the delivery is too old: it is no longer in the session's log"}, true
	case e == nil, e.Unsent && !e.Entered:
		return NeverSent("not a byte was sent"), true
	case e.Outcome == OutcomeWithdrawn && (!e.Open || e.Final):
		return Withdrawn("the text was removed from the input box"), true
	case e.Outcome == string(runtime.OutcomeSubmitted):
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: e.Evidence}, true
	case e.Open && e.Blocked != "":
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedInputBlocked, Detail: e.Blocked}, true
	case (!e.Open || e.Final) && !e.Entered:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the text was typed, but the delivery stopped before Enter; other input may have followed the text"}, true
	case !e.Open, e.Final:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "Enter was pressed, and no signal shows the outcome"}, true
	}
	return runtime.Outcome{}, false
}

const (
	// resolveTimeout is the longest time that RetryUntilKnown tries to find out an outcome. resolveRetry is the pause
	// between attempts, in which others can use the input, for example to answer a dialog.
	resolveTimeout = 15 * time.Second
	resolveRetry   = 200 * time.Millisecond
)

// RetryUntilKnown calls the function resolve until it returns a final outcome, for at most 15 s, and returns the last result.
// resolve must acquire the session's input lock, call [ResolveDelivery] and release the lock.
func RetryUntilKnown(ctx context.Context, resolve func() (runtime.Outcome, error)) (runtime.Outcome, error) {
	for end := time.Now().Add(resolveTimeout); ; {
		out, err := resolve()
		if err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason == "" || out.Reason == runtime.RefusedInputBlocked || time.Now().After(end) {
			return out, err
		}
		if !retry.Sleep(ctx, resolveRetry) {
			return out, nil
		}
	}
}
