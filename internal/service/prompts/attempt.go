package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
	"gascity/runtime"
)

// opResult is the result of an operation, see opKind.
type opResult struct {
	id      string
	bound   string // the instance that the prompt was bound to before the attempt
	went    string // the instance that it was delivered to
	attempt prompt.Attempt
	note    string    // result of an interrupt, for people
	quiet   time.Time // a person is typing: do not interrupt before this time
	failed  error     // error from saving that the turn is interrupted; the turn was not interrupted
	wakeErr error     // error of a wake request
	kind    opKind
	later   string // why the outcome is not known yet; empty: it is known
	cut     bool   // the operation was cancelled, by the end of the engine or by the sender
}

// opKind is the kind of an operation that runs in its own goroutine. An owner runs one operation at
// a time.
type opKind int

const (
	opDelivery opKind = iota
	opResolve
	opInterrupt
	opWake
)

// The time limits of operations other than a delivery.
const (
	withdrawTime  = 20 * time.Second
	interruptTime = 5 * time.Second
	stopTime      = 2 * time.Second
	wakeTime      = 30 * time.Second
	// typing is how long after a person's last key press gc does not interrupt a turn.
	typing = 3 * time.Second
	// resolveRetry is the pause before an unknown outcome is asked for again.
	resolveRetry = 2 * time.Second
)

// attemptTime returns how long one delivery attempt may take. It is shorter than the receipt's limit, so that time is left to
// find out whether the agent got the text.
func (o *owner) attemptTime(r *prompt.Receipt) time.Duration {
	bound := r.Bound(o.opts.Progress())
	return bound - min(withdrawTime, bound/2)
}

// interrupting is the text of the receipt step that records the interrupt for an urgent prompt.
const interrupting = "the agent is busy: interrupting its turn"

// startOp runs an operation in a goroutine, for at most limit. do does the work; its result is sent to o.results. id is the
// receipt that the operation is about. Only the owner's goroutine calls startOp.
func (o *owner) startOp(ctx context.Context, kind opKind, id string, limit time.Duration, do func(ctx context.Context) opResult) {
	fctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	cut, abort := context.WithCancel(fctx)
	o.currentOp, o.currentOpKind, o.cancel = id, kind, abort
	go func() { // own and finishOnExit wait for its result
		defer cancel()
		defer abort()
		l := do(cut)
		l.cut = cut.Err() != nil && fctx.Err() == nil
		o.results <- l
		o.queue.wakeup.Wake()
	}()
}

// deliver starts an attempt to deliver a prompt. It first saves the receipt as injected. If wait is true, the owner has nothing
// else to do until something changes, or until the returned time, if that is not zero.
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
	o.saveHash(&r)
	o.recordAttempt(v)
	o.startOp(ctx, opDelivery, id, o.attemptTime(&r), func(ctx context.Context) opResult {
		d := newDelivery(&r, v)
		out, err := o.send(ctx, v, d)
		if out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedChanged {
			out, err = o.deliverByFile(ctx, &r, v, d, out)
		}
		l := opResult{id: id, bound: bound, went: r.Instance, attempt: prompt.Attempt{Outcome: out, Err: err, Attached: v.Attached}}
		if uncertain(out) && !errors.Is(ctx.Err(), context.Canceled) {
			l.resolve(ctx, v, d)
		}
		return l
	})
	return time.Time{}, false
}

// channelLimit is how long a text that must not be typed waits at the head of the queue for the
// agent's channel to connect. The prompts after it wait too.
const channelLimit = 2 * time.Minute

// noChannel records since when the prompt at the head of the queue waits for the agent's channel.
type noChannel struct {
	id    string
	since time.Time
}

// send delivers a prompt through the session's provider. If the sender asked for exact text and the agent CLI could take the text
// for a command, send refuses to type it and only uses the agent's native channel.
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
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "its text must not be typed, and the agent's channel was not connected for 2 minutes: " + why}, nil
	}
	return runtime.Deliver(ctx, v.Provider, v.Session, d)
}

// newDelivery returns the delivery of a receipt to the instance in a snapshot.
func newDelivery(r *prompt.Receipt, v session.Snapshot) runtime.Delivery {
	return runtime.Delivery{
		ID: r.ID, Attempt: r.Attempts, Instance: v.Token, Content: r.Content, Priority: priorityWord(r.Priority), Source: r.Source, Metadata: r.Metadata, Literal: r.Literal,
		AllowChanges: r.AllowChanges,
	}
}

// uncertain reports whether it is unknown, after this outcome, if the agent got the text.
func uncertain(out runtime.Outcome) bool {
	switch out.State {
	case runtime.OutcomeSubmitted, runtime.OutcomeRefused, runtime.OutcomeAbsent, runtime.OutcomeUnsupported:
		return false
	default:
		return true
	}
}

// resolve asks the provider what became known about an attempt that ended without a result, and stores the outcome in l. If the
// outcome is still not known, l.later says why.
func (l *opResult) resolve(ctx context.Context, v session.Snapshot, d runtime.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	out, err := runtime.Settle(ctx, v.Provider, v.Session, d)
	switch {
	case err != nil:
	case out.State == runtime.OutcomeSubmitted:
		l.attempt.Outcome, l.attempt.Err = out, nil
	case out.Reason == runtime.RefusedInputBlocked: // the text may be in the input box, and gc cannot remove it
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

// resolve starts an operation that asks the provider for the outcome of an attempt that was cut off. If wait is true, the owner
// has nothing else to do until something changes, or until the returned time, if that is not zero.
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
	o.saveHash(r)
	cancelled := !r.CancelAt.IsZero()
	o.startOp(ctx, opResolve, id, withdrawTime, func(ctx context.Context) opResult {
		cut := prompt.Attempt{Err: errors.New("the delivery was cut off before its result was known")}
		l := opResult{id: id, bound: r.Instance, went: r.Instance, kind: opResolve, attempt: cut}
		d := newDelivery(r, v)
		if cancelled {
			stopDelivery(ctx, v, d)
		}
		l.resolve(ctx, v, d)
		return l
	})
	return time.Time{}, false
}

// stopDelivery stops a delivery that an earlier controller began and that still runs in the provider, because [runtime.Settle]
// would only wait for it. The result is ignored: the caller then asks Settle for the outcome.
func stopDelivery(ctx context.Context, v session.Snapshot, d runtime.Delivery) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	_, _ = runtime.Withdraw(ctx, v.Provider, v.Session, d)
}

// interrupt interrupts the turn of a busy agent for an urgent prompt, once for each prompt. done is false if the prompt is to be
// delivered now. Otherwise the owner waits until something changes, or until the returned time, if that is not zero.
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

// markInterrupted returns the receipt with a step that records that the agent's turn is interrupted for it. The caller saves it
// before the interrupt, so that no turn is interrupted twice.
func (o *owner) markInterrupted(r prompt.Receipt) (prompt.Receipt, error) {
	if !r.IsQueued() {
		return r, errEnded
	}
	r.Interrupted = o.opts.Now()
	return r.AddStep(r.Interrupted, interrupting), nil
}

// quietFrom returns zero if the agent's turn may be interrupted now. If a person is typing, or if that cannot be found out, it
// returns when to check again. It asks the provider, because the snapshot may be old.
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

// interruptTurn interrupts the turn that has run since the given time, and waits up to [interruptTime] until it has ended. It
// returns the result as a text for people.
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

// wake asks the controller to start the sleeping session. If the delay after its last request has not passed, it does not ask: it
// returns the end of the delay, and true.
func (o *owner) wake(ctx context.Context, v session.Snapshot) (at time.Time, wait bool) {
	now := o.opts.Now()
	if now.Before(o.wakeAt) {
		return o.wakeAt, true
	}
	o.wakeAt = now.Add(o.wakeDelay.Next())
	o.startOp(ctx, opWake, noReceipt, wakeTime, func(ctx context.Context) opResult {
		return opResult{kind: opWake, wakeErr: o.opts.City.WakeFor(ctx, v.Session, "a prompt waits for it")}
	})
	return time.Time{}, false
}

// find returns the open receipt with this ID; false if there is none.
func (o *owner) find(id string) (*prompt.Receipt, bool) {
	r := o.stateOf(o.queue, id).Receipt
	return r, r != nil
}

// finishOp handles the result of an operation. If the result is the outcome of a delivery, it saves that, and retries until the
// store accepts it. Until then nothing else is done for the session.
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
	case l.cut && uncertain(l.attempt.Outcome): // the receipt stays injected and is resolved later
		return
	case l.later != "" && o.reportEvidence(l.id, "") == "": // a dialog is open or a person is typing: ask again later
		o.resolveAt = o.opts.Now().Add(resolveRetry)
		o.recordUndecided(ctx, l)
		return
	}
	at := o.opts.Now()
	o.saveOutcome(ctx, l, at)
	o.updateInputState(ctx, l.went, l.attempt)
}

// recordUndecided records in the receipt why it is still unknown whether the agent got the prompt. The same reason is recorded
// once.
func (o *owner) recordUndecided(ctx context.Context, l opResult) {
	why := "its delivery was cut off, and whether the agent got it cannot be found out yet: " + l.later
	_, err := o.change(ctx, o.queue, l.id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if r.State != prompt.Injected || r.Reason == why {
			return r, errEnded
		}
		r.Reason = why
		return r.AddStep(o.opts.Now(), why), nil
	})
	_, _ = o.saved(err) // saved stores the pause in the owner
}

// saveOutcome saves the outcome of a delivery attempt. If the agent's worker or hook has reported that the agent accepted the
// prompt, that counts more than what the attempt observed. It does not count if the attempt sent no bytes: then a person typed
// the same text.
func (o *owner) saveOutcome(ctx context.Context, l opResult, at time.Time) {
	o.saveUntilDone(ctx, l.id, func(r prompt.Receipt) (prompt.Receipt, error) {
		went := r.Instance
		r.Instance = l.bound
		out := l.attempt.Outcome
		if word := o.reportEvidence(l.id, out.Evidence); word != "" && (l.attempt.Withdrawn || o.stateOf(o.queue, l.id).worked || out.State == runtime.OutcomeSubmitted || uncertain(out)) {
			l.attempt = prompt.Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: word, Detail: out.Detail, Changes: out.Changes}}
		}
		r, err := r.ApplyAttempt(l.attempt, at)
		if err == nil && !r.CancelAt.IsZero() {
			r, err = r.Cancelled(at)
		}
		if r.State == prompt.Submitted || r.State == prompt.Unconfirmed {
			r.Instance = went
		}
		if err == nil && r.State == prompt.Submitted && o.stateOf(o.queue, l.id).aborted {
			r, err = r.Move(prompt.Submitted, at, reasonAborted)
		}
		if r.State == prompt.Submitted {
			o.recordAccepted(acceptance{went, at})
		}
		return r, err
	})
}

// recordAccepted records which instance accepted a prompt last, and when.
func (o *owner) recordAccepted(t acceptance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.accepted, o.readAt = t, t.at.Add(quiet)
}

// saveInterrupt saves the result of an interrupt in the receipt. If a person was typing, the turn was not interrupted, and the
// interrupt is tried again later.
func (o *owner) saveInterrupt(ctx context.Context, l opResult) {
	o.quietBy = l.quiet
	switch {
	case l.failed != nil:
		_, _ = o.saved(l.failed) // saved stores the pause in the owner
		return
	case l.note == "":
		return
	case l.note == interruptConfirmed:
		o.idleBy = time.Time{}
		o.TurnAborted(ctx, o.queue.session, l.went)
	}
	o.saveUntilDone(ctx, l.id, func(r prompt.Receipt) (prompt.Receipt, error) { return r.AddStep(o.opts.Now(), l.note), nil })
}

// lastTime is how long results may still be saved after the engine's context has ended.
const lastTime = 2 * time.Second

// saveUntilDone changes a receipt and retries while the store fails, until ctx ends. Then it
// retries for lastTime, so that a known result is not lost.
func (o *owner) saveUntilDone(ctx context.Context, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) {
	if o.changeWithRetry(ctx, id, edit) {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	if !o.changeWithRetry(last, id, edit) {
		o.opts.Logger.Error("cannot save the result of a prompt; the next controller asks the agent's backend again", "receipt", id)
	}
}

// changeWithRetry changes a receipt and retries while the store fails. It returns false if ctx ends
// first.
func (o *owner) changeWithRetry(ctx context.Context, id string, edit func(prompt.Receipt) (prompt.Receipt, error)) bool {
	for delay := retry.New(engine.RetryFirst, engine.RetryLongest); ; {
		_, err := o.change(ctx, o.queue, id, edit)
		if err == nil || errors.Is(err, errEnded) {
			return true
		}
		o.opts.Logger.Warn("cannot save the result of a prompt", "receipt", id, "error", err)
		if !delay.Wait(ctx) {
			return false
		}
	}
}
