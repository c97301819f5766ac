package exchange

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/session"
	"gascity/runtime"
	"gascity/worker"
)

// Prompt keeps the contract of workerapi.Orders.
func (e *Engine) Prompt(ctx context.Context, p worker.Prompt, wait worker.Progress) (worker.PromptAnswer, error) {
	a, err := e.named(p.RunID)
	if err != nil {
		return worker.PromptAnswer{}, err
	}
	if e.opts.Prompts == nil {
		return worker.PromptAnswer{}, errNoPrompts
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
		Text: p.Content, Priority: string(priority), Key: p.Key, TTL: time.Duration(p.TTL) * time.Second, Source: p.Source,
		Instance: session.PublicInstance(a.instance), Wait: string(wait),
	})
	if err != nil {
		return worker.PromptAnswer{}, inWords(err)
	}
	return worker.PromptAnswer{
		Accepted: true, Queued: r.State == client.ReceiptQueued || r.State == client.ReceiptAccepted, Position: r.Position, ID: r.ID, State: r.State, Reason: r.Reason,
	}, nil
}

// Identity keeps the contract of workerapi.Orders. Credentials are handed on and not
// kept.
func (e *Engine) Identity(ctx context.Context, id worker.Identity) (worker.IdentityAnswer, error) {
	a, err := e.named(id.RunID)
	if err != nil {
		return worker.IdentityAnswer{}, err
	}
	a.mu.Lock()
	offers := a.life.Offers(worker.OfferIdentity)
	a.mu.Unlock()
	if !offers {
		return worker.IdentityAnswer{}, fmt.Errorf("%w: the run's worker does not apply identities", worker.ErrRefused)
	}
	_, message, err := a.tell(worker.IdentityMessage, "identity", id)
	if err != nil {
		return worker.IdentityAnswer{}, err
	}
	return worker.IdentityAnswer{Accepted: true, ID: message}, nil
}

// tell gives the worker a message with a new name.
func (a *active) tell(kind worker.MessageKind, prefix string, data any) (seq uint64, id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counter++
	id = prefix + "-" + strconv.FormatInt(a.engine.opts.Now().UnixNano(), 36) + "-" + strconv.Itoa(a.counter)
	l, err := a.putLocked(kind, id, data)
	if err != nil {
		return 0, "", err
	}
	return l.Seq, id, nil
}

// interruptWithin bounds the wait for the end of a turn.
const interruptWithin = 30 * time.Second

// Interrupt keeps the contract of workerapi.Orders.
func (e *Engine) Interrupt(ctx context.Context, i worker.Interrupt) (worker.InterruptAnswer, error) {
	a, err := e.named(i.RunID)
	if err != nil {
		return worker.InterruptAnswer{}, err
	}
	v, err := e.opts.City.View(a.session)
	if err != nil || v.Provider == nil {
		return worker.InterruptAnswer{}, fmt.Errorf("%w: the session cannot be reached", worker.ErrUnavailable)
	}
	since := e.opts.Now()
	if err := runtime.InterruptInstance(ctx, v.Provider, a.session, a.instance); err != nil {
		return worker.InterruptAnswer{Detail: err.Error()}, nil //nolint:nilerr // the answer says it
	}
	err = runtime.WaitForInterruptBoundary(ctx, v.Provider, a.session, since, interruptWithin)
	if err != nil {
		return worker.InterruptAnswer{Detail: err.Error()}, nil //nolint:nilerr // the answer says it
	}
	return worker.InterruptAnswer{Confirmed: true}, nil
}

// healthWithin bounds the wait for a worker's own answer.
const healthWithin = 2 * time.Second

// Health keeps the contract of workerapi.Orders.
func (e *Engine) Health(ctx context.Context, id string) (worker.Health, error) {
	a, err := e.named(id)
	if err != nil {
		return worker.Health{}, err
	}
	a.mu.Lock()
	ask := a.reader != nil && a.life.Offers(worker.OfferHealth)
	a.mu.Unlock()
	if ask {
		ctx, cancel := context.WithTimeout(ctx, healthWithin)
		defer cancel()
		_, message, err := a.tell(worker.HealthMessage, "health", struct{}{})
		if err == nil && a.until(ctx, func() bool { return a.health.Question == message }) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.health, nil
		}
	}
	return a.known(e.opts.Now()), nil
}

// known is what the city knows of a run's health.
func (a *active) known(now time.Time) worker.Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := worker.Health{RunID: a.id, Status: worker.Healthy, CurrentState: string(a.life.State()), ContextUsage: a.life.ContextUsage()}
	if started := a.life.Reports[worker.Started].Timestamp; !started.IsZero() {
		h.UptimeSeconds = int64(now.Sub(started).Seconds())
	}
	if !a.heard.IsZero() {
		heard := a.heard
		h.LastActivity = &heard
	}
	if a.reader == nil {
		h.Status = worker.Degraded
		why := "no worker is connected"
		h.Error = &why
	}
	return h
}
