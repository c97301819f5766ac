package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// channel is the runtime.Provider of a session whose worker has reported. It uses the worker's
// stream, and the underlying provider for everything else.
type channel struct {
	runtime.Provider
	run *liveRun
}

var (
	_ runtime.Router                        = (*channel)(nil)
	_ runtime.Deliverer                     = (*channel)(nil)
	_ runtime.Settler                       = (*channel)(nil)
	_ runtime.Withdrawer                    = (*channel)(nil)
	_ runtime.Sensor                        = (*channel)(nil)
	_ runtime.Observer                      = (*channel)(nil)
	_ runtime.InteractionProvider           = (*channel)(nil)
	_ runtime.Fencer                        = (*channel)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*channel)(nil)
)

// Route implements runtime.Router: it returns the underlying provider, which has every ability that
// the channel does not have itself.
func (c *channel) Route(string) runtime.Provider { return c.Provider }

// Sense reads the agent's channels with the underlying provider and adds what the worker has
// reported. It implements runtime.Sensor.
func (c *channel) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	reading, err := runtime.Sense(ctx, c.Provider, name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		if !c.Provider.IsRunning(name) {
			return runtime.Reading{}, &runtime.Error{Op: "sense", Session: name, Err: runtime.ErrSessionNotFound}
		}
		reading = runtime.Reading{At: time.Now(), Instance: c.run.instance}
	case err != nil:
		return reading, err
	case reading.Instance != c.run.instance:
		return reading, nil // another instance runs in this session
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.addEvidenceLocked(&reading)
	reading.Progress = reading.Progress.Join(c.run.progressLocked())
	reading.Ended = c.run.life.End()
	if id := c.run.life.Conversation(); id != "" && reading.Conversation == nil {
		reading.Conversation = &runtime.Conversation{ID: id}
	}
	return reading, nil
}

// addEvidenceLocked adds what the worker reported about the agent's activity, questions and
// progress to the reading r. After the worker's stream has closed, its reports have the time at
// which the stream closed, so that they become stale.
func (a *liveRun) addEvidenceLocked(r *runtime.Reading) {
	a.mergeDuplicatesLocked(r)
	e, ok := a.life.Evidence(r.At)
	if ok && e.Activity == runtime.ActivityLimited && a.limited.After(r.At) {
		e.Until = a.limited
	}
	if ok {
		a.addObstacleLocked(&e, r)
	}
	if a.lock.IsActive() && !a.lock.Leaves { // during a hand-over the agent is not busy: it is stopped between two turns
		e, ok = newCompactingEvidence(a.lock.Since, r.At), true
	}
	if open := a.openQuestionsLocked(); len(open) > 0 {
		r.Pending, ok = open[0].interaction(), true
		e = runtime.Evidence{Source: runtime.SourceWorker, Activity: runtime.ActivityWaiting, Kind: r.Pending.Kind, At: r.At, Detail: "the worker asks"}
	}
	if !ok {
		return
	}
	if a.reader == nil && a.streamed && e.Source == runtime.SourceWorker && a.leftAt.Before(r.At) {
		e.At = a.leftAt
	}
	r.Evidence = append(slices.Clone(r.Evidence), e)
}

// Observe observes the session with the underlying provider, which alone decides whether the agent
// has exited. If it does not report the exit status, Observe adds the one that the worker has
// reported. It implements runtime.Observer.
func (c *channel) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	seen, err := runtime.Observe(ctx, c.Provider, name)
	if err != nil || seen.Agent != runtime.Dead || seen.Exit != nil || seen.InstanceToken != "" && seen.InstanceToken != c.run.instance {
		return seen, err
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if end := c.run.life.End(); end != nil {
		seen.Exit = end.Exit
	}
	return seen, nil
}

// StopInstance implements runtime.Fencer: it stops the instance by the underlying provider.
func (c *channel) StopInstance(ctx context.Context, name, token string) error {
	return runtime.StopInstance(ctx, c.Provider, name, token)
}

// InterruptInstance asks the worker to end its turn if the worker can do that; otherwise the
// underlying provider interrupts the agent. It implements runtime.Fencer.
func (c *channel) InterruptInstance(ctx context.Context, name, token string) error {
	a := c.run
	if token != a.instance {
		return &runtime.Error{Op: "interrupt", Session: name, Err: runtime.ErrStaleInstance}
	}
	if !a.offers(worker.OfferInterrupt) {
		return runtime.InterruptInstance(ctx, c.Provider, name, token)
	}
	ctx, cancel := context.WithTimeout(ctx, interruptWithin)
	defer cancel()
	l, err := a.sendInterrupt(ctx)
	switch {
	case err != nil:
	case l == nil:
		err = errNoBoundary
	case l.State != worker.Consumed:
		err = fmt.Errorf("%w: %s", errNoBoundary, l.Detail)
	default:
		return nil
	}
	return &runtime.Error{Op: "interrupt", Session: name, Err: err}
}

// WaitForInterruptBoundary waits until the worker reports that it is ready or idle. If no worker
// reports turns, the underlying provider decides. It implements
// runtime.InterruptBoundaryWaitProvider.
func (c *channel) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	a := c.run
	if a.presence() == absent && (!a.reportsTurns() || a.isStateFromHook()) {
		err := runtime.WaitForInterruptBoundary(ctx, c.Provider, name, since, timeout)
		if err == nil && a.isStateFromHook() {
			a.recordInterruptedTurn()
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if a.waitUntil(ctx, func() bool {
		state := a.life.State()
		return state == worker.Ready || state == worker.Idle
	}) {
		return nil
	}
	return &runtime.Error{Op: "confirm the interrupt of", Session: name, Err: errNoBoundary}
}

// reportsTurns reports whether the worker has ever reported the start of a turn, so that it can be
// expected to report the end of one.
func (a *liveRun) reportsTurns() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life.Reports[worker.Busy].Event != ""
}

// isStateFromHook reports whether the last report about the agent's state came from a hook of its
// agent CLI. An agent CLI may run no hook when its turn is interrupted.
func (a *liveRun) isStateFromHook() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life.Last().Metadata.Via == worker.ViaHook
}

// recordInterruptedTurn records that the agent is idle because its turn was interrupted, as if a
// hook had reported it. No hook reports this.
func (a *liveRun) recordInterruptedTurn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.life.Last(); last.Event == worker.Busy {
		now := a.engine.opts.Now()
		a.life, _ = a.life.Apply(worker.Lifecycle{
			Event: worker.Idle, RunID: a.id, Timestamp: now,
			Metadata: worker.Detail{Reason: worker.TurnInterrupted, Via: worker.ViaHook, ConversationID: last.Metadata.ConversationID},
		}, now)
		a.recordTurnLocked(worker.Idle, worker.Busy, now)
		a.changeLocked()
	}
}

// Pending returns the question that blocks the agent: that of its worker, otherwise the one in its
// terminal; nil if there is none. It implements runtime.InteractionProvider.
func (c *channel) Pending(name string) (*runtime.PendingInteraction, error) {
	if p := c.run.pending(); p != nil {
		return p, nil
	}
	p, err := runtime.Pending(c.Provider, name)
	if errors.Is(err, runtime.ErrInteractionUnsupported) || err == nil && c.run.hidesTerminalQuestion(p) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	return p, err
}

// answerWithin is how long Respond waits until an answered question is closed.
const answerWithin = 30 * time.Second

// Respond answers the open question that r names: by the worker if the worker asked it, otherwise
// in the terminal. It waits until the question is closed. It implements
// runtime.InteractionProvider.
func (c *channel) Respond(name string, r runtime.InteractionResponse) error {
	a := c.run
	q, err := a.answer(r)
	switch {
	case err != nil:
		return &runtime.Error{Op: "respond to", Session: name, Err: err}
	case q == nil:
		err = runtime.Respond(c.Provider, name, r)
		if errors.Is(err, runtime.ErrInteractionUnsupported) {
			err = &runtime.Error{Op: "respond to", Session: name, Err: runtime.ErrInteractionGone}
		}
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	gone := a.waitUntil(ctx, func() bool { return !slices.Contains(a.asked, q) || a.mailbox.Find(q.reply).IsDone() })
	if err := a.answerResult(q, gone); err != nil {
		return &runtime.Error{Op: "respond to", Session: name, Err: err}
	}
	return nil
}

var (
	errNoBoundary  = errors.New("the worker has not confirmed the end of its turn")
	errNotAccepted = errors.New("the answer was sent, but the worker has not confirmed it yet")
	errNoAnswer    = errors.New("the worker could not give the answer")
)
