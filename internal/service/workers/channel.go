package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/internal/service/workers/recovery"
	"gascity/runtime"
	"gascity/worker"
)

// channel is a session by the stream of its worker, over the provider below.
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

// Route implements runtime.Router.
func (c *channel) Route(string) runtime.Provider { return c.Provider }

// Sense implements runtime.Sensor: what the worker says, beside what the
// place below shows.
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
		return reading, nil // another instance has the place
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.evidenceLocked(&reading)
	reading.Progress = reading.Progress.Join(c.run.progressLocked())
	reading.Ended = c.run.life.End()
	if id := c.run.life.Conversation(); id != "" && reading.Conversation == nil {
		reading.Conversation = &runtime.Conversation{ID: id}
	}
	return reading, nil
}

// evidenceLocked adds what the worker says to a reading. What one says that was
// connected and is gone gets old.
func (a *liveRun) evidenceLocked(r *runtime.Reading) {
	a.mergeDuplicatesLocked(r)
	e, ok := a.life.Evidence(r.At)
	if ok && e.Activity == runtime.ActivityLimited && a.limited.After(r.At) {
		e.Until = a.limited
	}
	if ok {
		a.obstacleLocked(&e, r)
	}
	if a.lock.IsActive() && !a.lock.Leaves { // one that is handed over is to end between two turns
		e, ok = recovery.Compacting(a.lock.Since, r.At), true
	}
	if standing := a.standingLocked(); len(standing) > 0 {
		r.Pending, ok = standing[0].interaction(), true
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

// Observe implements runtime.Observer. Only the provider reports whether the
// agent has ended; its worker reports how where the provider cannot.
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

// StopInstance implements runtime.Fencer.
func (c *channel) StopInstance(ctx context.Context, name, token string) error {
	return runtime.StopInstance(ctx, c.Provider, name, token)
}

// InterruptInstance implements runtime.Fencer: by the worker if it ends
// turns, else by the place.
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
	l, err := a.order(ctx, worker.InterruptMessage, worker.Interrupt{RunID: a.id})
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

// WaitForInterruptBoundary implements
// runtime.InterruptBoundaryWaitProvider: the worker says that it is idle. Where no
// worker reports turns the provider decides.
func (c *channel) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	a := c.run
	if a.presence() == absent && (!a.reportsTurns() || a.byHook()) {
		err := runtime.WaitForInterruptBoundary(ctx, c.Provider, name, since, timeout)
		if err == nil && a.byHook() {
			a.cutShort()
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if a.until(ctx, func() bool {
		state := a.life.State()
		return state == worker.Ready || state == worker.Idle
	}) {
		return nil
	}
	return &runtime.Error{Op: "confirm the interrupt of", Session: name, Err: errNoBoundary}
}

// reportsTurns reports whether the worker has reported a turn.
func (a *liveRun) reportsTurns() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life.Reports[worker.Busy].Event != ""
}

// byHook reports whether a hook reported the present state: an interrupt may have
// none.
func (a *liveRun) byHook() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life.Last().Metadata.Via == worker.ViaHook
}

// cutShort records the end of a turn that no hook reports.
func (a *liveRun) cutShort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.life.Last(); last.Event == worker.Busy {
		now := a.engine.opts.Now()
		a.life, _ = a.life.Apply(worker.Lifecycle{
			Event: worker.Idle, RunID: a.id, Timestamp: now,
			Metadata: worker.Detail{Reason: worker.TurnInterrupted, Via: worker.ViaHook, ConversationID: last.Metadata.ConversationID},
		}, now)
		a.turnLocked(worker.Idle, worker.Busy, now)
		a.changeLocked()
	}
}

// Pending implements runtime.InteractionProvider.
func (c *channel) Pending(name string) (*runtime.PendingInteraction, error) {
	if p := c.run.pending(); p != nil {
		return p, nil
	}
	p, err := runtime.Pending(c.Provider, name)
	if errors.Is(err, runtime.ErrInteractionUnsupported) || err == nil && c.run.skipsPlaceQuestion(p) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	return p, err
}

// answerWithin bounds the wait for a question to go after its answer.
const answerWithin = 30 * time.Second

// Respond implements runtime.InteractionProvider.
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
	gone := a.until(ctx, func() bool { return !slices.Contains(a.asked, q) || a.mailbox.Find(q.reply).IsDone() })
	if err := a.answeredBy(q, gone); err != nil {
		return &runtime.Error{Op: "respond to", Session: name, Err: err}
	}
	return nil
}

var (
	errNoBoundary  = errors.New("the worker has not confirmed the end of its turn")
	errNotAccepted = errors.New("the answer was sent, and the worker has not accepted it yet")
	errNoAnswer    = errors.New("the worker could not give the answer")
)
