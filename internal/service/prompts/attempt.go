package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// opResult is the end of a flight.
type opResult struct {
	id      string
	bound   string // the instance that the prompt was for
	went    string // the instance that it was delivered to
	attempt prompt.Attempt
	note    string    // of an interrupt, instead of an attempt
	quiet   time.Time // nothing was interrupted, since a person types; not before
	failed  error     // of saving that it is interrupted: it was not
	wakeErr error     // of a wake
	kind    opKind
	later   string // why the outcome is not known yet; empty: it is known
	cut     bool   // it was ended by the engine's end or its sender: nothing is known
}

// opKind is what a flight does.
type opKind int

const (
	opDelivery opKind = iota
	opResolve
	opInterrupt
	opWake
)

// The bounds of what is done beside an attempt.
const (
	withdrawTime  = 20 * time.Second
	interruptTime = 5 * time.Second
	wakeTime      = 30 * time.Second
	// typing is how long after a person's key no turn is interrupted.
	typing = 3 * time.Second
	// resolveRetry is the pause before an unknown outcome is asked for again.
	resolveRetry = 2 * time.Second
)

// attemptTime returns how long one attempt may take: its outcome is asked for within the rest
// of the receipt's bound.
func (o *owner) attemptTime(r *prompt.Receipt) time.Duration {
	bound := r.Bound(o.opts.Progress())
	return bound - min(withdrawTime, bound/2)
}

// interrupting is the step of an urgent prompt whose turn is interrupted.
const interrupting = "the agent is busy: interrupting its turn"

// startOp begins a flight, for at most the given time. Only the owner calls it.
func (o *owner) startOp(ctx context.Context, kind opKind, id string, limit time.Duration, do func(ctx context.Context) opResult) {
	fctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	cut, abort := context.WithCancel(fctx)
	o.currentOp, o.currentOpKind, o.cancel = id, kind, abort
	go func() { // own and leave wait for it
		defer cancel()
		defer abort()
		l := do(cut)
		l.cut = cut.Err() != nil && fctx.Err() == nil
		o.results <- l
	}()
}

// deliver begins an attempt: the receipt is saved as injected first.
func (o *owner) deliver(ctx context.Context, id string, v session.Snapshot) (at time.Time, wait bool) {
	waiting, ok := o.find(id)
	if !ok {
		return time.Time{}, false
	}
	if waiting.Priority == prompt.Urgent && v.Activity.State == runtime.ActivityBusy {
		if at, wait, done := o.interrupt(ctx, waiting, v); done {
			return at, wait
		}
	}
	bound := waiting.Instance
	r, err := o.change(ctx, o.queue, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.IsQueued() {
			return r, errEnded
		}
		r.Instance, r.NextAt = v.Instance, time.Time{}
		r.Attempts++
		return r.Move(prompt.Injected, o.opts.Now(), prompt.Delivering)
	})
	if err != nil {
		return o.saved(err)
	}
	o.name(&r)
	o.tries(v)
	o.startOp(ctx, opDelivery, id, o.attemptTime(&r), func(ctx context.Context) opResult {
		d := newDelivery(&r, v)
		out, err := o.send(ctx, v, d)
		if out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedChanged {
			out, err = o.byFile(ctx, &r, v, d, out)
		}
		l := opResult{id: id, bound: bound, went: r.Instance, attempt: prompt.Attempt{Outcome: out, Err: err, Attached: v.Attached}}
		if uncertain(out) && !errors.Is(ctx.Err(), context.Canceled) {
			l.resolve(ctx, v, d)
		}
		return l
	})
	return time.Time{}, false
}

// channelLimit is how long a text that must not be typed waits at the head of the queue for a
// channel that is not connected. The prompts behind it wait, too.
const channelLimit = 2 * time.Minute

// noChannel is since when the prompt at the head of the queue waits for a channel.
type noChannel struct {
	id    string
	since time.Time
}

// send delivers a prompt. A text that is not to be taken for a command is not typed.
func (o *owner) send(ctx context.Context, v session.Snapshot, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Literal && runtime.MayBeCommand(runtime.FlattenText(d.Content)) {
		why, forGood := o.opts.Typed(v)
		switch {
		case why == "":
			return runtime.Deliver(ctx, v.Provider, v.Session, d)
		case forGood:
			return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "prompts for this agent are typed, and its agent CLI may take the text for a command: " + why}, nil
		}
		if o.noChannel.id != d.ID {
			o.noChannel = noChannel{d.ID, o.opts.Now()}
		}
		if o.opts.Now().Sub(o.noChannel.since) < channelLimit {
			return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: why}, nil
		}
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "its text is not to be typed, and no channel was connected for 2 minutes: " + why}, nil
	}
	return runtime.Deliver(ctx, v.Provider, v.Session, d)
}

// newDelivery returns a receipt as it is handed to the instance of a view.
func newDelivery(r *prompt.Receipt, v session.Snapshot) runtime.Delivery {
	return runtime.Delivery{
		ID: r.ID, Instance: v.Token, Content: r.Content, Priority: priorityWord(r.Priority), Source: r.Source, Metadata: r.Metadata, Literal: r.Literal,
		AllowChanges: r.AllowChanges,
	}
}

// uncertain reports whether the agent may or may not have got the text.
func uncertain(out runtime.Outcome) bool {
	switch out.State {
	case runtime.OutcomeSubmitted, runtime.OutcomeRefused, runtime.OutcomeAbsent, runtime.OutcomeUnsupported:
		return false
	default:
		return true
	}
}

// resolve asks for the outcome of an attempt that ended without a result: the
// agent accepted the text, or certainly never will, or the outcome cannot be
// known, or not yet.
func (l *opResult) resolve(ctx context.Context, v session.Snapshot, d runtime.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	out, err := runtime.Settle(ctx, v.Provider, v.Session, d)
	switch {
	case err != nil:
	case out.State == runtime.OutcomeSubmitted:
		l.attempt.Outcome, l.attempt.Err = out, nil
	case out.Reason == runtime.RefusedInputBlocked: // its text may be in the box, and gc cannot remove it
		l.attempt.Outcome = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: out.Reason, Detail: out.Detail}
		l.attempt.Err = nil
	case out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn:
		l.attempt.Withdrawn, l.attempt.Unsent = true, out.Unsent
		l.attempt.WorkerRefused = prompt.WorkerRefused(out)
		if l.attempt.WorkerRefused {
			l.attempt.Outcome = out
		}
	case out.State == runtime.OutcomeUnconfirmed && out.Reason != "":
		l.later = cmp.Or(out.Detail, string(out.Reason))
	case out.State == runtime.OutcomeUnconfirmed && out.Detail != "" && l.kind == opResolve:
		l.attempt.Outcome, l.attempt.Err = out, nil
	}
}

// resolve asks what came of an attempt that was cut off.
func (o *owner) resolve(ctx context.Context, id string, v session.Snapshot) (at time.Time, wait bool) {
	r, ok := o.find(id)
	if !ok {
		return time.Time{}, false
	}
	if v.Provider == nil {
		return time.Time{}, true
	}
	if o.opts.Now().Before(o.resolveAt) {
		return o.resolveAt, true
	}
	o.name(r)
	o.startOp(ctx, opResolve, id, withdrawTime, func(ctx context.Context) opResult {
		cut := prompt.Attempt{Err: errors.New("the delivery was cut off before its result was known")}
		l := opResult{id: id, bound: r.Instance, went: r.Instance, kind: opResolve, attempt: cut}
		l.resolve(ctx, v, newDelivery(r, v))
		return l
	})
	return time.Time{}, false
}

// interrupt asks a busy agent to abandon its turn for an urgent prompt, once.
// done is false if the prompt is to be delivered now.
func (o *owner) interrupt(ctx context.Context, waiting *prompt.Receipt, v session.Snapshot) (at time.Time, wait, done bool) {
	now := o.opts.Now()
	if !waiting.Interrupted.IsZero() {
		return o.idleBy, true, now.Before(o.idleBy)
	}
	if now.Before(o.quietBy) {
		return o.quietBy, true, true
	}
	if calm := v.LastInput.Add(typing); v.Attached > 0 && now.Before(calm) {
		return calm, true, true
	}
	o.idleBy = now.Add(interruptTime)
	id := waiting.ID
	o.startOp(ctx, opInterrupt, id, 3*interruptTime, func(ctx context.Context) opResult {
		l := opResult{id: id, kind: opInterrupt, went: v.Instance}
		if l.quiet = o.quietFrom(ctx, v); !l.quiet.IsZero() {
			return l
		}
		if _, l.failed = o.change(ctx, o.queue, id, o.markInterrupted); l.failed != nil {
			return l
		}
		l.note = "not interrupted: a person types"
		if l.quiet = o.quietFrom(ctx, v); l.quiet.IsZero() { // saving may take a while
			l.note = interruptTurn(ctx, v, now)
		}
		return l
	})
	return time.Time{}, false, true
}

// markInterrupted records that the turn is about to be interrupted, before it is.
func (o *owner) markInterrupted(r prompt.Receipt) (prompt.Receipt, error) {
	if !r.IsQueued() {
		return r, errEnded
	}
	r.Interrupted = o.opts.Now()
	return r.AddStep(r.Interrupted, interrupting), nil
}

// quietFrom checks whether a person types, or that this is unknown, and returns
// when to look again; zero if no person types. What the view says of it may be
// old.
func (o *owner) quietFrom(ctx context.Context, v session.Snapshot) time.Time {
	now := o.opts.Now()
	seen, err := runtime.Observe(ctx, v.Provider, v.Session)
	switch calm := seen.LastInput.Add(typing); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		return now.Add(typing)
	case seen.Attached > 0 && now.Before(calm):
		return calm
	}
	return time.Time{}
}

// interruptTurn interrupts and waits for the boundary; it returns what came of
// it, in words.
func interruptTurn(ctx context.Context, v session.Snapshot, since time.Time) string {
	if err := runtime.InterruptInstance(ctx, v.Provider, v.Session, v.Token); err != nil {
		return fmt.Sprintf("not interrupted: %v", err)
	}
	err := runtime.WaitForInterruptBoundary(ctx, v.Provider, v.Session, since, interruptTime)
	if errors.Is(err, errors.ErrUnsupported) {
		err = runtime.WaitForIdle(ctx, v.Provider, v.Session, interruptTime)
	}
	if err == nil {
		err = runtime.ResetInterruptedTurn(ctx, v.Provider, v.Session)
	}
	if err != nil {
		return fmt.Sprintf("interrupted; that its turn ended is not confirmed: %v", err)
	}
	return interruptConfirmed
}

const interruptConfirmed = "interrupted; its turn has ended"

// wake asks for the session to run.
func (o *owner) wake(ctx context.Context, v session.Snapshot) (at time.Time, wait bool) {
	now := o.opts.Now()
	if now.Before(o.wakeAt) {
		return o.wakeAt, true
	}
	o.wakeAt, o.wakeWait = now.Add(o.wakeWait), min(2*o.wakeWait, wakeMax)
	o.startOp(ctx, opWake, anything, wakeTime, func(ctx context.Context) opResult {
		return opResult{kind: opWake, wakeErr: o.opts.City.WakeFor(ctx, v.Session, "a prompt waits for it")}
	})
	return time.Time{}, false
}

// find returns an open receipt.
func (o *owner) find(id string) (*prompt.Receipt, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.queue.receipts[id]
	return r, ok
}

// finishOp takes the end of a flight over. The outcome of an attempt is saved
// however often it takes: until then nothing else is done for the session.
func (o *owner) finishOp(ctx context.Context, l opResult) {
	o.currentOp, o.cancel = "", nil
	switch {
	case l.kind == opWake:
		if l.wakeErr != nil {
			o.opts.Logger.Warn("cannot wake a session for its prompts", "session", o.queue.session, "error", l.wakeErr)
		}
		return
	case l.kind == opInterrupt:
		o.saveInterrupt(ctx, l)
		return
	case l.cut && uncertain(l.attempt.Outcome): // the next Run resolves it
		return
	case l.later != "" && o.reportEvidence(l.id, "") == "": // behind a dialog, or a person types: it is asked for again
		o.resolveAt = o.opts.Now().Add(resolveRetry)
		o.recordUndecided(ctx, l)
		return
	}
	at := o.opts.Now()
	o.saveOutcome(ctx, l, at)
	o.seeInput(l.went, l.attempt)
}

// recordUndecided records why the outcome of an attempt is not known yet, once.
func (o *owner) recordUndecided(ctx context.Context, l opResult) {
	why := "its delivery was cut off, and whether the agent got it cannot be found out yet: " + l.later
	_, err := o.change(ctx, o.queue, l.id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if r.State != prompt.Injected || r.Reason == why {
			return r, errEnded
		}
		r.Reason = why
		return r.AddStep(o.opts.Now(), why), nil
	})
	_, _ = o.saved(err) // what it says is kept in the owner
}

// saveOutcome saves what came of an attempt. A worker's own report of submission
// overrides the attempt's outcome, unless the attempt sent no bytes (then a person
// typed the same text).
func (o *owner) saveOutcome(ctx context.Context, l opResult, at time.Time) {
	o.until(ctx, l.id, func(r prompt.Receipt) (prompt.Receipt, error) {
		went := r.Instance
		r.Instance = l.bound
		out := l.attempt.Outcome
		if word := o.reportEvidence(l.id, out.Evidence); word != "" && (l.attempt.Withdrawn || o.hasWorked(l.id) || out.State == runtime.OutcomeSubmitted || uncertain(out)) {
			l.attempt = prompt.Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: word, Detail: out.Detail, Changes: out.Changes}}
		}
		r, err := r.ApplyAttempt(l.attempt, at)
		if err == nil && !r.CancelAt.IsZero() {
			r, err = r.Cancelled(at)
		}
		if r.State == prompt.Submitted || r.State == prompt.Unconfirmed {
			r.Instance = went
		}
		if err == nil && r.State == prompt.Submitted && o.wasAborted(l.id) {
			r, err = r.Move(prompt.Submitted, at, reasonAborted)
		}
		if r.State == prompt.Submitted {
			o.recordAccepted(acceptance{went, at})
		}
		return r, err
	})
}

// recordAccepted keeps what the agent took last.
func (o *owner) recordAccepted(t acceptance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.accepted, o.readAt = t, t.at.Add(quiet)
}

// saveInterrupt takes over what came of an interrupt. One that a person's typing
// prevented is tried again when that has rested.
func (o *owner) saveInterrupt(ctx context.Context, l opResult) {
	o.quietBy = l.quiet
	switch {
	case l.failed != nil:
		_, _ = o.saved(l.failed) // what it says is kept in the owner
		return
	case l.note == "":
		return
	case l.note == interruptConfirmed:
		o.idleBy = time.Time{}
	}
	if l.note == interruptConfirmed {
		o.TurnAborted(ctx, o.queue.session, l.went)
	}
	o.until(ctx, l.id, func(r prompt.Receipt) (prompt.Receipt, error) { return r.AddStep(o.opts.Now(), l.note), nil })
}

// lastTime is how long what is known may be saved after the engine's end.
const lastTime = 2 * time.Second

// until makes a change however often the store fails, until ctx ends; then it
// tries for a while more: what is known is not to be dropped.
func (o *owner) until(ctx context.Context, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) {
	if o.insist(ctx, id, edit) {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	if !o.insist(last, id, edit) {
		o.opts.Logger.Error("what came of a prompt is not saved: the next controller asks again", "receipt", id)
	}
}

// insist makes a change however often the store fails; it is false if ctx ended
// first.
func (o *owner) insist(ctx context.Context, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) bool {
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		_, err := o.change(ctx, o.queue, id, edit)
		if err == nil || errors.Is(err, errEnded) {
			return true
		}
		o.opts.Logger.Warn("cannot save what came of a prompt", "receipt", id, "error", err)
		if !pause(ctx, wait) {
			return false
		}
	}
}
