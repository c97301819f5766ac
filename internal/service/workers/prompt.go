package workers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/workerrun"
	"gascity/internal/overlay"
	"gascity/internal/service/workers/recovery"
	"gascity/runtime"
	"gascity/worker"
)

const (
	// confirmWithin bounds the wait for a worker's word on a prompt, settleWithin the
	// wait for it to repeat that.
	confirmWithin = 30 * time.Second
	settleWithin  = 10 * time.Second
	// goneWithin is how long the outcome of a prompt is asked for again after
	// its worker is gone.
	goneWithin = 2 * time.Minute
)

// refused returns an outcome that proves that the agent got nothing.
func refused(reason runtime.RefusalReason, detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: detail}
}

// neverSent returns the outcome of a prompt that was provably not sent and never will be.
func neverSent(detail string) runtime.Outcome {
	out := refused(runtime.RefusedWithdrawn, detail)
	out.Unsent = true
	return out
}

// unsent returns the outcome of a prompt that was not sent because of err.
func unsent(err error) runtime.Outcome {
	return neverSent("not a byte was sent: " + err.Error())
}

func unconfirmed(reason runtime.RefusalReason, detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: reason, Detail: detail}
}

// Deliver implements runtime.Deliverer. By which way a prompt goes is
// remembered before its first byte does.
func (c *channel) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	if d.Instance != "" && d.Instance != a.instance {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "nudge", Session: name, Err: runtime.ErrStaleInstance}
	}
	switch where := a.missed(); {
	case where == absent && d.Literal && runtime.MayBeCommand(runtime.FlattenText(d.Content)):
		return refused(runtime.RefusedUnready, "the agent's channel is not connected, and the text is not to be typed"), nil
	case where == absent || a.byHook() && !d.Literal && isCommand(d.Content) && !a.engine.isNative(name):
		return c.deliverBelow(ctx, name, d)
	case where == returning:
		return refused(runtime.RefusedUnready, recovery.Returning), nil
	}
	if d.ID == "" {
		return refused(runtime.RefusedContent, "a prompt by a worker's stream needs an ID"), nil
	}
	if no, ok := a.refusal(); !ok {
		return no, nil
	}
	if no := c.awaitCommand(ctx, name); no != nil {
		return *no, nil
	}
	text, staged, err := c.text(name, d.Content)
	if err != nil {
		return refused(runtime.RefusedContent, err.Error()), nil
	}
	id := a.assignStreamName(d.ID)
	if err := a.remember(c.Provider); err != nil {
		return unsent(err), nil
	}
	if _, err := a.prompt(id, text, d); err != nil {
		return refused(runtime.RefusedUnready, err.Error()), nil
	}
	confirm := d.Confirm
	if confirm <= 0 {
		confirm = confirmWithin
	}
	out := a.await(ctx, id, confirm)
	out.Staged = staged
	return out, nil
}

// isCommand reports whether a prompt may be a command of the agent CLI's own. What the CLI's
// extension takes is for the model: a command is typed.
func isCommand(content []runtime.ContentBlock) bool {
	return len(content) > 0 && prompt.NamesCommand(content[0].Text)
}

// deliverBelow delivers by the place: nothing of the prompt is with the worker any
// more, and it is not to be looked for there.
func (c *channel) deliverBelow(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	a.mu.Lock()
	id := recovery.Newest(a.sent, d.ID)
	if id != "" {
		if l := a.mailbox.Find(id); l != nil && l.State != worker.Refused {
			a.mu.Unlock()
			return outcomeOf(l), nil // the worker has it, or may have
		}
		a.sent = slices.DeleteFunc(slices.Clone(a.sent), func(s string) bool { return recovery.Newest([]string{s}, d.ID) != "" })
	}
	a.mu.Unlock()
	if id != "" {
		if err := a.remember(c.Provider); err != nil {
			return unsent(err), nil
		}
	}
	below := c.Provider
	if a.inStartupGrace() { // its worker speaks, and is about to listen
		below = &recovery.PendingWorker{Provider: c.Provider}
	}
	if d.Literal || !isCommand(d.Content) {
		return runtime.Deliver(ctx, below, name, d)
	}
	return c.typeCommand(ctx, below, name, d)
}

// text returns a prompt's text; its files are staged.
func (c *channel) text(name string, content []runtime.ContentBlock) (text string, staged []string, err error) {
	message, err := overlay.MessageOf(content)
	if err != nil {
		return "", nil, err
	}
	staged, err = message.StageBy(func(src, dst string) error { return c.Provider.CopyTo(name, src, dst) })
	return message.Text, staged, err
}

// assignStreamName records that a prompt goes by the stream and returns its message's name.
func (a *liveRun) assignStreamName(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := recovery.Newest(a.sent, id)
	if last == "" {
		a.sent = remembered(a.sent, id, recovery.MaxSent)
		return id
	}
	if l := a.mailbox.Find(last); l == nil || l.State != worker.Refused {
		return last // it was withdrawn before it was sent, or may be with the worker
	}
	next := recovery.Next(a.sent, id)
	a.sent = remembered(a.sent, next, recovery.MaxSent)
	return next
}

// prompt sends a prompt, with what its sender said of it.
func (a *liveRun) prompt(id, text string, d runtime.Delivery) (*workerrun.PendingMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.putLocked(worker.PromptMessage, id, worker.Prompt{
		RunID: a.id, Content: text, Priority: cmp.Or(worker.Priority(d.Priority), worker.Normal), Source: d.Source, Metadata: d.Metadata,
	})
}

// refusal returns why the run takes no prompt now.
func (a *liveRun) refusal() (runtime.Outcome, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch state := a.life.State(); {
	case len(a.standingLocked()) > 0:
		return refused(runtime.RefusedDialog, "the agent waits for an answer"), false
	case a.lock.IsActive():
		return refused(runtime.RefusedBusy, "its context is being compacted, or handed over"), false
	case state == worker.Busy && a.life.Last().Metadata.Via != worker.ViaHook: // an extension asks its CLI
		return refused(runtime.RefusedBusy, "the worker says that it is busy"), false
	case state != worker.Ready && state != worker.Idle && state != worker.Busy:
		return refused(runtime.RefusedUnready, "the worker has not said that it is ready"), false
	}
	return runtime.Outcome{}, true
}

// await waits for a worker's word on a prompt.
func (a *liveRun) await(ctx context.Context, id string, confirm time.Duration) runtime.Outcome {
	ctx, cancel := context.WithTimeout(ctx, confirm)
	defer cancel()
	said := a.until(ctx, func() bool {
		l := a.mailbox.Find(id)
		return l != nil && (l.State == worker.Submitted || l.IsDone())
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	switch l := a.mailbox.Find(id); {
	case l == nil:
		return unconfirmed("", "the prompt is not known any more")
	case said:
		return outcomeOf(l)
	case a.mailbox.Withdraw(id):
		return neverSent("the worker did not fetch it")
	case a.reader == nil && a.presenceLocked(goneWithin) == returning:
		return unconfirmed(runtime.RefusedUnready, "the worker may have it, and is not connected")
	}
	return unconfirmed("", "the worker has said nothing of it")
}

// outcomeOf returns a worker's word in the terms of deliveries.
func outcomeOf(l *workerrun.PendingMessage) runtime.Outcome {
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

// Settle implements runtime.Settler. A prompt whose fate this controller
// does not know is sent again under its ID: a worker that has had it repeats its
// word and does no more.
func (c *channel) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	if d.Instance != "" && d.Instance != a.instance {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, &runtime.Error{Op: "settle a prompt of", Session: name, Err: runtime.ErrStaleInstance}
	}
	if err := a.recall(c.Provider); err != nil {
		return unconfirmed(runtime.RefusedUnready, "by which way it went cannot be read: "+err.Error()), nil //nolint:nilerr // it is asked for again
	}
	a.mu.Lock()
	id := recovery.Newest(a.sent, d.ID)
	known := id != "" && a.mailbox.Find(id) != nil
	where := a.presenceLocked(goneWithin)
	a.mu.Unlock()
	switch {
	case id == "":
		return runtime.Settle(ctx, c.Provider, name, d)
	case known:
		return a.settle(ctx, id, d), nil
	case where == returning:
		return unconfirmed(runtime.RefusedUnready, recovery.Returning), nil
	case where == absent:
		return unconfirmed("", "its worker is gone"), nil
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

// settle waits for a worker's word on a prompt that it has, or may have. One that reads its stream
// and has said nothing is asked for again: it may be about to read the prompt.
func (a *liveRun) settle(ctx context.Context, id string, d runtime.Delivery) runtime.Outcome {
	within := settleWithin
	if d.Confirm > 0 {
		within = min(within, d.Confirm)
	}
	out := a.await(ctx, id, within)
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.mailbox.Find(id); l != nil && l.State == "" && a.reader != nil && out.State == runtime.OutcomeUnconfirmed && out.Reason == "" {
		out.Reason = runtime.RefusedUnready
	}
	return out
}

// promptAgain sends a prompt that an earlier controller may have sent: that no reader
// of this one has had it proves nothing.
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

// Withdraw implements runtime.Withdrawer.
func (c *channel) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return recovery.Withdrawn(c.Settle(ctx, name, d))
}
