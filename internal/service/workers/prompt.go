package workers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/overlay"
	"gascity/runtime"
	"gascity/worker"
)

const (
	// confirmWithin is how long Deliver waits for the worker's acknowledgement of a prompt, and
	// settleWithin how long Settle waits for a repeated one.
	confirmWithin = 30 * time.Second
	settleWithin  = 10 * time.Second
	// goneWithin is how long after its worker has disconnected the outcome of a prompt can still
	// become known.
	goneWithin = 2 * time.Minute
)

// refused returns the outcome of a delivery that was refused: the agent provably did not get the prompt.
func refused(reason runtime.RefusalReason, detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: detail}
}

// neverSent returns the outcome of a prompt that provably was not sent and never will be.
func neverSent(detail string) runtime.Outcome {
	out := refused(runtime.RefusedWithdrawn, detail)
	out.Unsent = true
	return out
}

// unsent returns the outcome of a prompt that was not sent because of err.
func unsent(err error) runtime.Outcome {
	return neverSent("not a byte was sent: " + err.Error())
}

// unconfirmed returns the outcome of a prompt that the agent may have got.
func unconfirmed(reason runtime.RefusalReason, detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: reason, Detail: detail}
}

// Deliver sends a prompt to the worker or, without one, to the underlying provider. Which of both gets it is saved before the
// first byte is sent. It implements runtime.Deliverer.
func (c *channel) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	if d.Instance != "" && d.Instance != a.instance {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "nudge", Session: name, Err: runtime.ErrStaleInstance}
	}
	switch where := a.presenceForPrompt(); {
	case where == absent && d.Literal && runtime.MayBeCommand(runtime.FlattenText(d.Content)):
		return refused(runtime.RefusedUnready, "the agent's channel is not connected, and the text must not be typed"), nil
	case where == absent || a.isStateFromHook() && !d.Literal && isCommand(d.Content) && !a.engine.isNative(name):
		return c.deliverBelow(ctx, name, d)
	case where == returning:
		return refused(runtime.RefusedUnready, WorkerReturning), nil
	}
	if d.ID == "" {
		return refused(runtime.RefusedContent, "a prompt that is sent by a worker's stream needs an ID"), nil
	}
	if no, ok := a.refusal(); !ok {
		return no, nil
	}
	if no := c.awaitCommand(ctx, name); no != nil {
		return *no, nil
	}
	text, staged, err := c.stagePrompt(name, d.Content)
	if err != nil {
		return refused(runtime.RefusedContent, err.Error()), nil
	}
	id := a.assignMessageID(d.ID)
	if err := a.saveMemoryTo(c.Provider); err != nil {
		return unsent(err), nil
	}
	if _, err := a.prompt(id, text, d); err != nil {
		return refused(runtime.RefusedUnready, err.Error()), nil
	}
	confirm := d.Confirm
	if confirm <= 0 {
		confirm = confirmWithin
	}
	out := a.awaitOutcome(ctx, id, confirm)
	out.Staged = staged
	return out, nil
}

// isCommand reports whether a prompt may be a command of the agent CLI, such as "/clear". Such a prompt is typed, because a text
// that goes through the worker always reaches the model.
func isCommand(content []runtime.ContentBlock) bool {
	return len(content) > 0 && prompt.NamesCommand(content[0].Text)
}

// deliverBelow delivers a prompt by the underlying provider, for example by typing it. If the worker has the prompt or may have
// it, it is not delivered a second time; the outcome then comes from the worker's acknowledgement.
func (c *channel) deliverBelow(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	a.mu.Lock()
	id := findLastAttempt(a.sent, d.ID)
	if id != "" {
		if l := a.mailbox.Find(id); l != nil && l.State != worker.Refused {
			a.mu.Unlock()
			return outcomeOf(l), nil // the worker has the prompt, or may have it
		}
		a.sent = slices.DeleteFunc(slices.Clone(a.sent), func(s string) bool { return findLastAttempt([]string{s}, d.ID) != "" })
	}
	a.mu.Unlock()
	if id != "" {
		if err := a.saveMemoryTo(c.Provider); err != nil {
			return unsent(err), nil
		}
	}
	below := c.Provider
	if a.inStartupGrace() { // the worker may be about to connect
		below = &pendingWorker{Provider: c.Provider}
	}
	if d.Literal || !isCommand(d.Content) {
		return runtime.Deliver(ctx, below, name, d)
	}
	return c.typeCommand(ctx, below, name, d)
}

// stagePrompt copies the files of a prompt to the session. It returns the text of the prompt and the paths of the
// copies, also of those that were made before an error.
func (c *channel) stagePrompt(name string, content []runtime.ContentBlock) (text string, staged []string, err error) {
	message, err := overlay.MessageOf(content)
	if err != nil {
		return "", nil, err
	}
	staged, err = message.StageBy(func(src, dst string) error { return c.Provider.CopyTo(name, src, dst) })
	return message.Text, staged, err
}

// assignMessageID records that a prompt is sent by the worker's stream, and returns the ID of its message. If the worker refused
// the prompt before, the ID is new; otherwise it is the one of the last attempt.
func (a *liveRun) assignMessageID(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := findLastAttempt(a.sent, id)
	if last == "" {
		a.sent = appendBounded(a.sent, id, maxSent)
		return id
	}
	if l := a.mailbox.Find(last); l == nil || l.State != worker.Refused {
		return last // it was withdrawn before it was sent, or the worker may have it
	}
	next := nextAttempt(a.sent, id)
	a.sent = appendBounded(a.sent, next, maxSent)
	return next
}

// prompt queues a prompt for the worker, with the sender's priority, source and metadata.
func (a *liveRun) prompt(id, text string, d runtime.Delivery) (*session.MailboxMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.putLocked(worker.PromptMessage, id, worker.Prompt{
		RunID: a.id, Content: text, Priority: cmp.Or(worker.Priority(d.Priority), worker.Normal), Source: d.Source, Metadata: d.Metadata,
	})
}

// refusal checks whether the run accepts a prompt now. If it does not, refusal returns false and the outcome that refuses the
// prompt.
func (a *liveRun) refusal() (runtime.Outcome, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch state := a.life.State(); {
	case len(a.openQuestionsLocked()) > 0:
		return refused(runtime.RefusedDialog, "the agent waits for an answer"), false
	case a.lock.IsActive():
		return refused(runtime.RefusedBusy, "its conversation is being compacted or handed over"), false
	case state == worker.Busy && a.life.Last().Metadata.Via != worker.ViaHook: // with hooks, the extension asks the CLI itself
		return refused(runtime.RefusedBusy, "the worker reports that it is busy"), false
	case state != worker.Ready && state != worker.Idle && state != worker.Busy:
		return refused(runtime.RefusedUnready, "the worker has not reported that it is ready"), false
	}
	return runtime.Outcome{}, true
}

// awaitOutcome waits until the worker acknowledges the prompt of the message id, for at most confirm, and returns the outcome.
func (a *liveRun) awaitOutcome(ctx context.Context, id string, confirm time.Duration) runtime.Outcome {
	ctx, cancel := context.WithTimeout(ctx, confirm)
	defer cancel()
	said := a.waitUntil(ctx, func() bool {
		l := a.mailbox.Find(id)
		return l != nil && (l.State == worker.Submitted || l.IsDone())
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	switch l := a.mailbox.Find(id); {
	case l == nil:
		return unconfirmed("", "the prompt is no longer in the worker's mailbox")
	case said:
		return outcomeOf(l)
	case a.mailbox.Withdraw(id):
		return neverSent("the worker did not fetch it")
	case a.reader == nil && a.presenceLocked(goneWithin) == returning:
		return unconfirmed(runtime.RefusedUnready, "the worker may have received it, and is not connected now")
	}
	return unconfirmed("", "the worker has not acknowledged it")
}

// outcomeOf returns the outcome of a delivery from the worker's acknowledgement.
func outcomeOf(l *session.MailboxMessage) runtime.Outcome {
	switch l.State {
	case worker.Submitted:
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: prompt.SignWorker, Detail: l.Detail}
	case worker.Consumed:
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: prompt.WithWorked(""), Detail: l.Detail}
	case worker.Refused:
		return prompt.RefusedByWorker(cmp.Or(l.Detail, "no reason given")) // the agent provably did not get it
	case worker.Received, worker.Failed:
	}
	return unconfirmed("", l.Detail)
}

// Settle finds out whether the worker got a prompt whose delivery was cut off. It sends the prompt again under the same ID. A
// worker that had it repeats its acknowledgement and does not process it again. It implements runtime.Settler.
func (c *channel) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	if d.Instance != "" && d.Instance != a.instance {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, &runtime.Error{Op: "settle a prompt of", Session: name, Err: runtime.ErrStaleInstance}
	}
	if err := a.loadMemory(c.Provider); err != nil {
		return unconfirmed(runtime.RefusedUnready, "cannot read how it was sent: "+err.Error()), nil //nolint:nilerr // the caller asks again later
	}
	a.mu.Lock()
	id := findLastAttempt(a.sent, d.ID)
	known := id != "" && a.mailbox.Find(id) != nil
	where := a.presenceLocked(goneWithin)
	a.mu.Unlock()
	switch {
	case id == "":
		return runtime.Settle(ctx, c.Provider, name, d)
	case known:
		return a.settle(ctx, id, d), nil
	case where == returning:
		return unconfirmed(runtime.RefusedUnready, WorkerReturning), nil
	case where == absent:
		return unconfirmed("", "its worker is not connected"), nil
	}
	message, err := overlay.MessageOf(d.Content)
	if err != nil {
		return unconfirmed("", err.Error()), nil
	}
	if err := a.promptAgain(id, message.Text, d); err != nil {
		return unconfirmed(runtime.RefusedUnready, err.Error()), nil
	}
	return a.settle(ctx, id, d), nil
}

// settle waits for the worker's acknowledgement of a prompt that it has or may have. If the worker is connected but has not
// acknowledged the prompt, the outcome asks the caller to try again, because the worker may be about to read it.
func (a *liveRun) settle(ctx context.Context, id string, d runtime.Delivery) runtime.Outcome {
	within := settleWithin
	if d.Confirm > 0 {
		within = min(within, d.Confirm)
	}
	out := a.awaitOutcome(ctx, id, within)
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.mailbox.Find(id); l != nil && l.State == "" && a.reader != nil && out.State == runtime.OutcomeUnconfirmed && out.Reason == "" {
		out.Reason = runtime.RefusedUnready
	}
	return out
}

// promptAgain sends a prompt again that an earlier controller may have sent. The message is marked as sent, so that it never
// counts as one that the worker cannot have.
func (a *liveRun) promptAgain(id, text string, d runtime.Delivery) error {
	l, err := a.prompt(id, text, d)
	if err != nil {
		return err
	}
	a.mu.Lock()
	l.Sent = true
	a.mu.Unlock()
	return nil
}

// Withdraw returns true if the worker provably does not have the prompt and will not get it. It implements runtime.Withdrawer.
func (c *channel) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return wasWithdrawn(c.Settle(ctx, name, d))
}
