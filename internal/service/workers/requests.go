package workers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/worker"
)

// Prompt accepts a prompt for the agent of a run and puts it into the city's queue. With wait, it returns when the prompt has
// made that progress. It implements workerapi.Orders.
func (e *Engine) Prompt(ctx context.Context, p worker.Prompt, wait worker.Progress) (worker.PromptAnswer, error) {
	a, err := e.runByID(p.RunID)
	if err != nil {
		return worker.PromptAnswer{}, err
	}
	switch wait {
	case "", worker.Submitted, worker.Consumed:
	default:
		return worker.PromptAnswer{}, fmt.Errorf("%w: wait is %q, neither submitted nor consumed", worker.ErrInvalid, wait)
	}
	priority := p.Priority
	switch priority {
	case worker.System, worker.Urgent, worker.Normal:
	default:
		priority = worker.Normal
	}
	r, err := e.opts.Prompts.Nudge(ctx, a.session, client.NudgeRequest{
		Text: p.Content, Priority: string(priority), Key: p.Key, TTL: p.TTL.Duration(), Source: p.Source, Metadata: p.Metadata,
		Instance: session.PublicInstance(a.instance), Wait: string(wait),
	})
	if err != nil {
		return worker.PromptAnswer{}, workerError(err)
	}
	return worker.PromptAnswer{
		Accepted: true, Queued: r.State == client.ReceiptQueued || r.State == client.ReceiptAccepted, Position: r.Position, ID: r.ID, State: r.State, Reason: r.Reason,
	}, nil
}

// Identity passes credentials to the worker and does not store them. It implements workerapi.Orders.
func (e *Engine) Identity(_ context.Context, id worker.Identity) (worker.IdentityAnswer, error) {
	a, err := e.runByID(id.RunID)
	if err != nil {
		return worker.IdentityAnswer{}, err
	}
	id.Token = "" // only the city issues tokens
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.life.HasOffer(worker.OfferIdentity) {
		return worker.IdentityAnswer{}, fmt.Errorf("%w: the run's worker does not apply identities", worker.ErrRefused)
	}
	a.mailbox.Remove(a.identity) // an older identity must not arrive after this one
	a.identity, err = a.putNewLocked(worker.IdentityMessage, "identity", id)
	return worker.IdentityAnswer{Accepted: err == nil, ID: a.identity}, err
}

// interruptWithin is how long an interrupt waits for the end of the turn.
const interruptWithin = 30 * time.Second

// Interrupt interrupts the turn of the agent of a run and waits for the end of the turn. It implements workerapi.Orders.
func (e *Engine) Interrupt(ctx context.Context, i worker.Interrupt) (worker.InterruptAnswer, error) {
	a, err := e.runByID(i.RunID)
	if err != nil {
		return worker.InterruptAnswer{}, err
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil || v.Provider == nil {
		return worker.InterruptAnswer{}, fmt.Errorf("%w: the session cannot be reached", worker.ErrUnavailable)
	}
	since := e.opts.Now()
	err = runtime.InterruptInstance(ctx, v.Provider, a.session, a.instance)
	if err == nil {
		err = runtime.WaitForInterruptBoundary(ctx, v.Provider, a.session, since, interruptWithin)
	}
	if err != nil {
		return worker.InterruptAnswer{Detail: err.Error()}, nil //nolint:nilerr // the answer contains the error
	}
	return worker.InterruptAnswer{Confirmed: true}, nil
}

// healthWithin is how long Health waits for the worker's own answer.
const healthWithin = 2 * time.Second

// Health returns the health of the worker of a run: its own answer if it answers within [healthWithin], otherwise what the city
// knows. It implements workerapi.Orders.
func (e *Engine) Health(ctx context.Context, id string) (worker.Health, error) {
	a, err := e.runByID(id)
	if err != nil {
		return worker.Health{}, err
	}
	if a.offers(worker.OfferHealth) {
		ctx, cancel := context.WithTimeout(ctx, healthWithin)
		defer cancel()
		if h, ok := a.askHealth(ctx); ok {
			return h, nil
		}
	}
	return a.cachedHealth(e.opts.Now()), nil
}

// CachedHealth returns what the city knows about the worker of an instance, given by its public
// name, without asking the worker. It returns nil if no worker has ever reported its state or its context for the instance.
func (e *Engine) CachedHealth(name, instance string) *client.Worker {
	a := e.runOf(name)
	if a == nil || !a.hasReported() && !a.knowsContext() || session.PublicInstance(a.instance) != instance {
		return nil
	}
	h := a.cachedHealth(e.opts.Now())
	w := &client.Worker{RunID: h.RunID, Status: string(h.Status), State: h.CurrentState, UptimeSeconds: h.UptimeSeconds, ContextUsage: h.ContextUsage}
	if h.LastActivity != nil {
		w.HeardAt = *h.LastActivity
	}
	if h.Error != nil {
		w.Detail = *h.Error
	}
	return w
}

// Listens reports whether the worker of a session is connected, or was less than 15 s ago. Prompts
// go to that worker.
func (e *Engine) Listens(name string) bool {
	a := e.runOf(name)
	return a != nil && a.presence() != absent
}

// askHealth asks the worker for its health. It returns false if the worker does not answer before
// ctx ends. It removes the request in both cases.
func (a *liveRun) askHealth(ctx context.Context) (worker.Health, bool) {
	id, err := a.sendMessage(worker.HealthMessage, "health", struct{}{})
	if err != nil {
		return worker.Health{}, false
	}
	ok := a.waitUntil(ctx, func() bool { return a.health.Question == id || a.mailbox.Find(id).IsDone() })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mailbox.Remove(id)
	return a.health, ok && a.health.Question == id
}

// cachedHealth returns the health of the worker from what it has reported so far, without asking it.
func (a *liveRun) cachedHealth(now time.Time) worker.Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := worker.Health{RunID: a.id, Status: worker.Healthy, CurrentState: cmp.Or(string(a.life.State()), "unknown"), ContextUsage: a.usage}
	if h.ContextUsage == nil {
		h.ContextUsage = a.life.ContextUsage()
	}
	if a.lock.IsActive() {
		h.CurrentState = "compacting"
	}
	if started := a.life.Reports[worker.Started].Timestamp; !started.IsZero() {
		h.UptimeSeconds = max(0, int64(now.Sub(started).Seconds()))
	}
	heard := a.lastReport
	if heard.IsZero() { // no report to this controller yet
		heard = a.life.Last().Timestamp
	}
	if !heard.IsZero() {
		h.LastActivity = &heard
	}
	if told := a.health; told.Asked && told.Status != "" {
		h.Status, h.Error = told.Status, told.Error // from its own last report
		if h.ContextUsage == nil {
			h.ContextUsage = told.ContextUsage
		}
	}
	if a.reader == nil && (a.streamed || a.life.Last().Metadata.Via != worker.ViaHook) { // hooks do not stay connected
		h.Status = worker.Degraded
		why := "no worker is connected"
		h.Error = &why
	}
	return h
}
