package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/internal/run"
	"gascity/internal/stage"
	"gascity/runtime"
	"gascity/worker"
)

// channel is a session by the stream of its worker, over the provider below.
type channel struct {
	runtime.Provider
	run *active
}

var (
	_ runtime.Router                        = (*channel)(nil)
	_ runtime.Deliverer                     = (*channel)(nil)
	_ runtime.Settler                       = (*channel)(nil)
	_ runtime.Withdrawer                    = (*channel)(nil)
	_ runtime.Sensor                        = (*channel)(nil)
	_ runtime.InteractionProvider           = (*channel)(nil)
	_ runtime.Fencer                        = (*channel)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*channel)(nil)
)

// Route keeps the contract of runtime.Router.
func (c *channel) Route(string) runtime.Provider { return c.Provider }

// Sense keeps the contract of runtime.Sensor: what the worker says, beside what the
// place below shows.
func (c *channel) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	reading, err := runtime.Sense(ctx, c.Provider, name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		reading = runtime.Reading{At: time.Now(), Instance: c.run.instance}
	case err != nil:
		return reading, err
	case reading.Instance != c.run.instance:
		return reading, nil // another incarnation has the place
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if e, ok := c.run.life.Evidence(reading.At); ok {
		reading.Evidence = append(reading.Evidence, e)
	}
	if len(c.run.asked) > 0 {
		q := c.run.asked[0]
		reading.Pending = q.interaction()
		reading.Evidence = slices.DeleteFunc(reading.Evidence, func(e runtime.Evidence) bool { return e.Source == runtime.SourceWorker })
		reading.Evidence = append(reading.Evidence, runtime.Evidence{
			Source: runtime.SourceWorker, Activity: runtime.ActivityWaiting, Kind: reading.Pending.Kind, At: reading.At, Detail: "the worker asks",
		})
	}
	return reading, nil
}

// confirmWithin bounds the wait for a worker's word on a prompt.
const confirmWithin = 30 * time.Second

// The evidence of a prompt that the worker has taken.
const takenByWorker = "worker"

// Deliver keeps the contract of runtime.Deliverer.
func (c *channel) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	switch {
	case d.Instance != "" && d.Instance != a.instance:
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "nudge", Session: name, Err: runtime.ErrStaleInstance}
	case !a.connected():
		return runtime.Deliver(ctx, c.Provider, name, d)
	case d.ID == "":
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "a prompt by a worker's stream needs an ID"}, nil
	}
	if no, ok := a.refusal(); !ok {
		return no, nil
	}
	text, staged, err := c.text(name, d.Content)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}, nil //nolint:nilerr // the outcome says it
	}
	a.mu.Lock()
	a.sent = append(a.sent, d.ID)
	a.sent = a.sent[max(0, len(a.sent)-maxSent):]
	a.mu.Unlock()
	if err := a.remember(c.Provider); err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: "not a byte was sent: " + err.Error()}, nil //nolint:nilerr // as above
	}
	a.mu.Lock()
	_, err = a.putLocked(worker.PromptMessage, d.ID, worker.Prompt{RunID: a.id, Content: text, Priority: worker.Normal})
	a.mu.Unlock()
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}, nil //nolint:nilerr // as above
	}
	confirm := d.Confirm
	if confirm <= 0 {
		confirm = confirmWithin
	}
	out := a.await(ctx, d.ID, confirm)
	out.Staged = staged
	return out, nil
}

// text is a prompt's text; its files are staged.
func (c *channel) text(name string, content []runtime.ContentBlock) (text string, staged []string, err error) {
	message, err := stage.MessageOf(content)
	if err != nil {
		return "", nil, err
	}
	staged, err = message.StageBy(func(src, dst string) error { return c.Provider.CopyTo(name, src, dst) })
	return message.Text, staged, err
}

// refusal says why the run takes no prompt now.
func (a *active) refusal() (runtime.Outcome, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := runtime.Outcome{State: runtime.OutcomeRefused}
	switch state := a.life.State(); {
	case len(a.asked) > 0:
		out.Reason, out.Detail = runtime.RefusedDialog, "the agent waits for an answer"
	case state == worker.Busy:
		out.Reason, out.Detail = runtime.RefusedBusy, "the worker says that it is busy"
	case state != worker.Ready && state != worker.Idle:
		out.Reason, out.Detail = runtime.RefusedUnready, "the worker has not said that it is ready"
	default:
		return out, true
	}
	return out, false
}

// await waits for a worker's word on a prompt.
func (a *active) await(ctx context.Context, id string, confirm time.Duration) runtime.Outcome {
	ctx, cancel := context.WithTimeout(ctx, confirm)
	defer cancel()
	said := a.until(ctx, func() bool {
		l := a.box.Find(id)
		return l != nil && (l.State == worker.Submitted || l.Ended())
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.box.Find(id)
	switch {
	case l == nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the prompt is not known any more"}
	case !said && a.box.Take(id):
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: "the worker did not fetch it"}
	case !said:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the worker has said nothing of it"}
	}
	return outcomeOf(l)
}

// outcomeOf is a worker's word in the terms of deliveries.
func outcomeOf(l *run.Letter) runtime.Outcome {
	switch l.State {
	case worker.Submitted, worker.Consumed:
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: takenByWorker, Detail: l.Detail}
	case worker.Refused:
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: l.Detail}
	case worker.Received, worker.Failed:
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: l.Detail}
}

// settleWithin bounds the wait for a worker to repeat its word.
const settleWithin = 10 * time.Second

// Settle keeps the contract of runtime.Settler. A prompt whose fate this controller
// does not know is sent again under its ID: a worker that has had it repeats its
// word and does no more.
func (c *channel) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	if d.Instance != "" && d.Instance != a.instance {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, &runtime.Error{Op: "settle a prompt of", Session: name, Err: runtime.ErrStaleInstance}
	}
	a.mu.Lock()
	ours := slices.Contains(a.sent, d.ID)
	l := a.box.Find(d.ID)
	a.mu.Unlock()
	switch {
	case !ours && l == nil:
		return runtime.Settle(ctx, c.Provider, name, d)
	case l != nil:
		return a.await(ctx, d.ID, settleWithin), nil
	case !a.connected():
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedUnready, Detail: "its worker is not connected"}, nil
	}
	message, err := stage.MessageOf(d.Content)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, nil //nolint:nilerr // the outcome says it
	}
	a.mu.Lock()
	_, err = a.putLocked(worker.PromptMessage, d.ID, worker.Prompt{RunID: a.id, Content: message.Text, Priority: worker.Normal})
	a.mu.Unlock()
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, nil //nolint:nilerr // as above
	}
	return a.await(ctx, d.ID, settleWithin), nil
}

// Withdraw keeps the contract of runtime.Withdrawer.
func (c *channel) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	out, err := c.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn, err
}

// StopInstance keeps the contract of runtime.Fencer.
func (c *channel) StopInstance(ctx context.Context, name, token string) error {
	return runtime.StopInstance(ctx, c.Provider, name, token)
}

// InterruptInstance keeps the contract of runtime.Fencer: by the worker if it ends
// turns, else by the place.
func (c *channel) InterruptInstance(ctx context.Context, name, token string) error {
	a := c.run
	if token != a.instance {
		return &runtime.Error{Op: "interrupt", Session: name, Err: runtime.ErrStaleInstance}
	}
	a.mu.Lock()
	offers := a.reader != nil && a.life.Offers(worker.OfferInterrupt)
	a.mu.Unlock()
	if !offers {
		return runtime.InterruptInstance(ctx, c.Provider, name, token)
	}
	_, id, err := a.tell(worker.InterruptMessage, "interrupt", worker.Interrupt{RunID: a.id})
	if err != nil {
		return &runtime.Error{Op: "interrupt", Session: name, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, interruptWithin)
	defer cancel()
	if !a.until(ctx, func() bool { return a.box.Find(id).Ended() }) {
		return &runtime.Error{Op: "interrupt", Session: name, Err: errNoBoundary}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.box.Find(id); l.State != worker.Consumed {
		return &runtime.Error{Op: "interrupt", Session: name, Err: fmt.Errorf("%w: %s", errNoBoundary, l.Detail)}
	}
	return nil
}

var errNoBoundary = errors.New("the worker has not confirmed the end of its turn")

// WaitForInterruptBoundary keeps the contract of
// runtime.InterruptBoundaryWaitProvider: the worker says that it is idle.
func (c *channel) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	a := c.run
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if a.until(ctx, func() bool {
		state := a.life.State()
		return (state == worker.Idle || state == worker.Ready) && (!a.life.Last().Timestamp.Before(since) || state == worker.Ready)
	}) {
		return nil
	}
	return &runtime.Error{Op: "confirm the interrupt of", Session: name, Err: errNoBoundary}
}

// Pending keeps the contract of runtime.InteractionProvider.
func (c *channel) Pending(name string) (*runtime.PendingInteraction, error) {
	c.run.mu.Lock()
	if len(c.run.asked) > 0 {
		defer c.run.mu.Unlock()
		return c.run.asked[0].interaction(), nil
	}
	c.run.mu.Unlock()
	p, err := runtime.Pending(c.Provider, name)
	if errors.Is(err, runtime.ErrInteractionUnsupported) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	return p, err
}

// answerWithin bounds the wait for a question to go after its answer.
const answerWithin = 30 * time.Second

// Respond keeps the contract of runtime.InteractionProvider.
func (c *channel) Respond(name string, r runtime.InteractionResponse) error {
	a := c.run
	a.mu.Lock()
	at := slices.IndexFunc(a.asked, func(q *question) bool { return q.request == r.RequestID || r.RequestID == "" })
	if at < 0 {
		a.mu.Unlock()
		err := runtime.Respond(c.Provider, name, r)
		if errors.Is(err, runtime.ErrInteractionUnsupported) {
			err = &runtime.Error{Op: "respond to", Session: name, Err: runtime.ErrInteractionGone}
		}
		return err
	}
	q := a.asked[at]
	reply, err := q.reply(r)
	if err == nil && q.answer != nil {
		err = runtime.ErrInteractionGone
	}
	if err == nil {
		q.answer = &reply
		if !q.guard {
			_, err = a.putLocked(worker.ReplyMessage, "reply-"+q.request, reply)
		}
		a.changeLocked()
	}
	a.mu.Unlock()
	if err != nil {
		return &runtime.Error{Op: "respond to", Session: name, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	gone := func() bool { return !slices.Contains(a.asked, q) || !q.guard && a.box.Find("reply-"+q.request).Ended() }
	if !a.until(ctx, gone) {
		return &runtime.Error{Op: "respond to", Session: name, Err: errNotTaken}
	}
	a.mu.Lock()
	a.resolveLocked(q.ID)
	a.changeLocked()
	a.mu.Unlock()
	return nil
}

var errNotTaken = errors.New("the answer was handed over, and the worker has not taken it yet")
